package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-helm/agent-helm/server"
)

// minCompress is the smallest file worth compressing, in bytes.
const minCompress = 1 << 10

// appFiles are the app's files in memory, where the binary has them anyway.
type appFiles struct {
	files map[string]*appFile
	// index answers every page of the app.
	index *appFile
}

type appFile struct {
	name, mediaType, tag string
	content              []byte
	// compressed is made when it is first asked for; nil when it does not help.
	once       sync.Once
	compressed []byte
}

func readApp(app fs.FS, placeholder string) (*appFiles, error) {
	found := &appFiles{files: map[string]*appFile{}}
	err := fs.WalkDir(app, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(app, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		found.files["/"+name] = &appFile{name: "/" + name, mediaType: mediaTypeOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`, content: content}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the app: %w", err)
	}
	index := "/index.html"
	if placeholder != "" {
		index = "/" + placeholder
	}
	if found.index = found.files[index]; found.index == nil {
		return nil, fmt.Errorf("read the app: it has no %s", index)
	}
	return found, nil
}

// mediaTypes are ours and not the system's, whose table differs by machine.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml", ".png": "image/png",
	".ico": "image/x-icon", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8", ".map": "application/json", ".wasm": "application/wasm",
}

func mediaTypeOf(name string) string {
	extension := path.Ext(name)
	if known, ok := mediaTypes[extension]; ok {
		return known
	}
	if known := mime.TypeByExtension(extension); known != "" {
		return known
	}
	return "application/octet-stream"
}

// serve answers with a file, or with the app's page for any path that names
// no file: the app's router reads the address.
func (f *appFiles) serve(a *API, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a.fail(w, r, server.NewError(server.CodeMethod))
		return
	}
	name := path.Clean(r.URL.Path)
	file, ok := f.files[name]
	switch {
	case ok && file != f.index:
	case name == "/" || name == f.index.name || path.Ext(name) == "":
		file = f.index
	default:
		// Not the page: a missing script must not come back as HTML.
		a.fail(w, r, server.NewError(server.CodeNotFound))
		return
	}
	file.serve(w, r)
}

func (file *appFile) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", file.mediaType)
	header.Set("ETag", file.tag)
	header.Set("Vary", "Accept-Encoding")
	if strings.HasPrefix(file.name, "/assets/") {
		// Their names carry a hash of their content.
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	if match := r.Header.Get("If-None-Match"); match != "" && strings.Contains(match, file.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := file.content
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		if compressed := file.gzipped(); compressed != nil {
			header.Set("Content-Encoding", "gzip")
			content = compressed
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // the reader may be gone
	}
}

func acceptsGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			return strings.ReplaceAll(quality, " ", "") != "q=0"
		}
	}
	return false
}

func (file *appFile) gzipped() []byte {
	file.once.Do(func() {
		text := strings.HasPrefix(file.mediaType, "text/") || strings.Contains(file.mediaType, "json") || strings.Contains(file.mediaType, "svg")
		if !text || len(file.content) < minCompress {
			return
		}
		var out bytes.Buffer
		writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil { // cannot happen: the level is a constant
			return
		}
		if _, err := writer.Write(file.content); err != nil || writer.Close() != nil {
			return
		}
		if out.Len() < len(file.content) {
			file.compressed = out.Bytes()
		}
	})
	return file.compressed
}
