package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is an entry of an archive. Exactly one of data, from and link is
// given, or none for a folder, whose mode says so.
type file struct {
	name string // slashes, none in front
	mode fs.FileMode
	data []byte
	from string // a file of this machine
	link string
	uid  int // group, too
}

func folder(name string, mode fs.FileMode) file { return file{name: name, mode: mode | fs.ModeDir} }

func text(name string, data []byte) file { return file{name: name, mode: 0o644, data: data} }

// writeTar writes files sorted by name, with their parent folders and with
// nothing of this machine: neither its names, nor its times, nor its order.
func writeTar(w io.Writer, files []file, at time.Time) error {
	out := tar.NewWriter(w)
	for _, f := range withParents(files) {
		if err := writeEntry(out, f, at); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return out.Close()
}

func withParents(files []file) []file {
	all := map[string]file{}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			if _, there := all[dir]; !there {
				all[dir] = folder(dir, 0o755)
			}
		}
	}
	for _, f := range files {
		all[f.name] = f
	}
	sorted := make([]file, 0, len(all))
	for _, f := range all {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return sorted
}

func writeEntry(out *tar.Writer, f file, at time.Time) error {
	h := &tar.Header{
		Name: f.name, Mode: int64(f.mode.Perm()), ModTime: at, Uid: f.uid, Gid: f.uid,
		Typeflag: tar.TypeReg, Format: tar.FormatPAX,
	}
	if f.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case f.mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		return out.WriteHeader(h)
	case f.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		return out.WriteHeader(h)
	case f.from == "":
		h.Size = int64(len(f.data))
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		_, err := out.Write(f.data)
		return err
	}
	in, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// writeTarGz is writeTar into a compressed file.
func writeTarGz(name string, files []file, at time.Time) (err error) {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(zip, files, at); err != nil {
		return err
	}
	return zip.Close()
}

func tarBytes(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	err := writeTar(&out, files, at)
	return out.Bytes(), err
}

// tree lists a folder of this machine as entries below prefix. A link inside it
// stays one; one that leads out of it is followed.
func tree(dir, prefix string) ([]file, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		f := file{name: path.Join(prefix, filepath.ToSlash(rel)), mode: 0o644, from: name}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir():
			f.mode, f.from = 0o755|fs.ModeDir, ""
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := filepath.EvalSymlinks(name); err != nil {
				return err
			} else if strings.HasPrefix(target, dir+string(filepath.Separator)) {
				if f.link, err = os.Readlink(name); err != nil {
					return err
				}
				f.from = ""
			}
		case info.Mode().Perm()&0o100 != 0:
			f.mode = 0o755
		}
		files = append(files, f)
		return nil
	})
	return files, err
}
