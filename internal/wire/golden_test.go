package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readGolden returns the fields of the "# json:" line and the bytes of an
// annotated hex file.
func readGolden(t *testing.T, path string) (fields map[string]any, message []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	header, ok := strings.CutPrefix(lines[0], "# json: ")
	if !ok {
		t.Fatalf("%s: the first line is not # json:", path)
	}
	decoder := json.NewDecoder(strings.NewReader(header))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, digits := range strings.Fields(line) {
			b, err := hex.DecodeString(digits)
			if err != nil || len(b) != 1 {
				t.Fatalf("%s: %q is not a byte", path, digits)
			}
			message = append(message, b[0])
		}
	}
	return fields, message
}

// fieldsOf is a frame as the goldens write it: the JSON of control frames as
// it is; of binary frames each field under its lower-case name, bytes in hex.
func fieldsOf(t *testing.T, f Frame) map[string]any {
	t.Helper()
	fields := map[string]any{}
	value := reflect.ValueOf(f).Elem()
	binaryFrame := true
	for field := range reflect.TypeOf(f).Elem().Fields() {
		if field.Tag.Get("json") != "" || field.Anonymous {
			binaryFrame = false
		}
	}
	var encoded []byte
	var err error
	if !binaryFrame {
		encoded, err = json.Marshal(f)
	} else {
		plain := map[string]any{}
		for field, v := range value.Fields() {
			name := strings.ToLower(field.Name)
			if data, ok := v.Interface().([]byte); ok {
				plain[name] = hex.EncodeToString(data)
			} else {
				plain[name] = v.Interface()
			}
		}
		encoded, err = json.Marshal(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	fields["type"] = f.Type().String()
	return fields
}

func TestGoldens(t *testing.T) {
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			fields, message := readGolden(t, filepath.Join("testdata", name+"-v1.hex"))
			if encoded := encode(t, want); !bytes.Equal(encoded, message) {
				t.Errorf("encoded differently\n got %x\nwant %x", encoded, message)
			}
			got, rest, err := Decode(message)
			if err != nil || len(rest) != 0 {
				t.Fatalf("decode: %v, %d bytes left over", err, len(rest))
			}
			sameFrame(t, want, got)
			if diff := cmp.Diff(fields, fieldsOf(t, got)); diff != "" {
				t.Errorf("fields differ from the golden's (-golden +decoded):\n%s", diff)
			}
		})
	}
}

func TestGoldens_preamble(t *testing.T) {
	fields, message := readGolden(t, filepath.Join("testdata", "preamble-v1.hex"))
	if !bytes.Equal(AppendPreamble(nil), message) {
		t.Errorf("preamble %x, golden %x", AppendPreamble(nil), message)
	}
	if fmt.Sprintf("%v.%v", fields["major"], fields["minor"]) != fmt.Sprintf("%d.%d", VersionMajor, VersionMinor) {
		t.Errorf("golden's versions: %v", fields)
	}
}

func TestGoldens_noneIsLeftOver(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.hex"))
	if err != nil {
		t.Fatal(err)
	}
	known := samples()
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), "-v1.hex")
		if _, ok := known[name]; !ok && name != "preamble" {
			t.Errorf("%s belongs to no frame", path)
		}
	}
}
