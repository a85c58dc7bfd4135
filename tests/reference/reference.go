// SPDX-License-Identifier: Apache-2.0

// The reference library's side of the comparison: reads cases, a JSON object a line, and answers
// each with one line that says what the library makes of it. peer.c answers for this project's own
// code in the same words; compare.py holds the answers against each other.
//
// Called with a directory, which becomes the root of all paths: spec directories and host nodes lie
// below it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

type request struct {
	Dirs       []string `json:"dirs"`
	Annotation string   `json:"annotation"` // its value: the devices that are asked for
	Config     oci.Spec `json:"config"`

	// Instead of a case: a config that is only read and written, so that two can be compared.
	Normalise *oci.Spec `json:"normalise"`
}

// One spec file. The value is there when the file is good, the error when it is not.
type verdict struct {
	Value *specs.Spec `json:"value,omitempty"`
	Error string      `json:"error,omitempty"`
	Panic bool        `json:"panic,omitempty"`
}

type answer struct {
	Files      map[string]verdict `json:"files"`
	Devices    map[string]string  `json:"devices"`    // qualified name to the file that defines it
	Requests   []string           `json:"requests"`   // as the annotation gives them
	Unresolved []string           `json:"unresolved"` // of them
	Error      string             `json:"error,omitempty"`
	Config     *oci.Spec          `json:"config,omitempty"` // when there is no error
}

func readFile(path string) (v verdict) {
	defer func() {
		if reason := recover(); reason != nil {
			v = verdict{Error: fmt.Sprint(reason), Panic: true}
		}
	}()
	spec, err := cdi.ReadSpec(path, 0)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Value: spec.Spec}
}

// The names that the library looks at: those that it would load as a spec.
func specFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if !entry.IsDir() && (ext == ".json" || ext == ".yaml") {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	return files
}

// Each name once: the library applies a device as often as it is named, engines name it once.
func unique(names []string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			kept = append(kept, name)
		}
		seen[name] = true
	}
	return kept
}

func inject(r *request, a *answer) {
	defer func() {
		if reason := recover(); reason != nil {
			a.Error = fmt.Sprint("panic: ", reason)
		}
	}()
	// An empty list would mean the default directories.
	cache, err := cdi.NewCache(cdi.WithSpecDirs(r.Dirs...), cdi.WithAutoRefresh(false))
	if err != nil {
		a.Error = err.Error()
		return
	}
	for _, name := range cache.ListDevices() {
		a.Devices[name] = cache.GetDevice(name).GetSpec().GetPath()
	}

	_, names, err := cdi.ParseAnnotations(map[string]string{cdi.AnnotationPrefix + "test": r.Annotation})
	if err != nil {
		a.Error = err.Error()
		return
	}
	a.Requests = names
	unresolved, err := cache.InjectDevices(&r.Config, unique(names)...)
	if err != nil {
		a.Unresolved = unresolved
		a.Error = err.Error()
		return
	}
	a.Config = &r.Config
}

func reply(line []byte) (a answer) {
	var r request

	a.Files = map[string]verdict{}
	a.Devices = map[string]string{}
	if err := json.Unmarshal(line, &r); err != nil {
		a.Error = "case: " + err.Error()
		return a
	}
	if r.Normalise != nil {
		a.Config = r.Normalise
		return a
	}
	for _, dir := range r.Dirs {
		for _, file := range specFiles(dir) {
			a.Files[file] = readFile(file)
		}
	}
	inject(&r, &a)
	return a
}

func run(root string) error {
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	lines := bufio.NewReader(os.Stdin)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		if err := encoder.Encode(reply(line)); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
