package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed reads a file of a package of npm that these tests need, at the version that package-lock.json pins.
func packed(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("node_modules", filepath.FromSlash(path)))
	if err != nil {
		tb.Fatalf("this test needs what package.json beside it names: run scripts/setup.sh, or npm ci in cmd/sequencer/test/browser (%v)", err)
	}
	return string(b)
}

// TestVendored: the encoder of QR codes that the pages carry is the published one, under its licence.
func TestVendored(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../api/dashboard/web/lean-qr.js")
	if err != nil {
		t.Fatal(err)
	}
	head, code, _ := strings.Cut(string(b), "*/\n")
	if code != packed(t, "lean-qr/nano.mjs") || !strings.Contains(head, "MIT License") {
		t.Error("api/dashboard/web/lean-qr.js is not a comment with its licence and then nano.mjs of lean-qr, as package-lock.json pins it")
	}
}

// accessible fails the test if axe finds what keeps somebody out: contrast, names, roles, by the rules of
// WCAG 2.2 up to AA, and axe's own best practices.
func (p *tab) accessible(what string) {
	p.Helper()
	if !told[bool](p, "Boolean(window.axe)") {
		told[bool](p, packed(p, "axe-core/axe.min.js")+";true")
	}
	p.until(`(window.violations = undefined, axe.run(document, {
		resultTypes: ['violations'], runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
	}).then((r) => { window.violations = r.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.html + ' ' + n.failureSummary.replaceAll('\n', ' '))); },
		(e) => { window.violations = ['axe failed: ' + e]; }), true)`)
	p.until("window.violations")
	for _, violation := range told[[]string](p, "window.violations") {
		p.Errorf("%s: %s", what, violation)
	}
}

// scan reads the QR code that a path of squares draws, as the camera of a phone would.
func (p *tab) scan(selector string) string {
	p.Helper()
	told[bool](p, packed(p, "jsqr/dist/jsQR.js")+";true")
	return told[string](p, fmt.Sprintf(`(() => {
		const size = document.querySelector(%[1]s).ownerSVGElement.viewBox.baseVal.width, scale = 4;
		const canvas = new OffscreenCanvas(size * scale, size * scale), ink = canvas.getContext('2d');
		ink.fillStyle = '#fff';
		ink.fillRect(0, 0, canvas.width, canvas.height);
		ink.fillStyle = '#000';
		ink.scale(scale, scale);
		ink.fill(new Path2D(document.querySelector(%[1]s).getAttribute('d')));
		return jsQR(ink.getImageData(0, 0, canvas.width, canvas.height).data, canvas.width, canvas.height)?.data ?? '';
	})()`, quoted(selector)))
}
