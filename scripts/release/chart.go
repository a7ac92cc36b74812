package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
)

// chart packs the Helm chart, with the version of the release in it. helm's own
// packing writes the time of day into the archive.
func (b *build) chart(context.Context) error {
	dir := filepath.Join(b.dir, "scripts/release/chart")
	files, err := tree(dir, product)
	if err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil {
		return err
	}
	versions := regexp.MustCompile(`(?m)^(version|appVersion): .*$`)
	about = versions.ReplaceAll(about, []byte(`$1: "`+b.version+`"`))
	for i := range files {
		if files[i].name == product+"/Chart.yaml" {
			files[i] = text(files[i].name, about)
		}
	}
	return writeTarGz(filepath.Join(b.out, product+"-"+b.version+".tgz"), files, b.time)
}
