// Package chartcheck holds the Helm chart and compose.yaml against the libraries
// of helm, Kubernetes, the Prometheus operator, KEDA and compose.
package chartcheck

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kedav1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

const chartDir = "../chart"

// helm says at each load that the board and the alerts are links, which they are
// for they stand in docs.
func init() { slog.SetLogLoggerLevel(slog.LevelWarn) }

// kinds are the Go types of all that the chart makes.
var kinds = map[string]func() metav1.Object{
	"v1/ConfigMap":                            func() metav1.Object { return &corev1.ConfigMap{} },
	"v1/Pod":                                  func() metav1.Object { return &corev1.Pod{} },
	"v1/Service":                              func() metav1.Object { return &corev1.Service{} },
	"v1/ServiceAccount":                       func() metav1.Object { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                      func() metav1.Object { return &appsv1.Deployment{} },
	"apps/v1/StatefulSet":                     func() metav1.Object { return &appsv1.StatefulSet{} },
	"policy/v1/PodDisruptionBudget":           func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/Ingress":            func() metav1.Object { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":      func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() metav1.Object { return &monitoringv1.ServiceMonitor{} },
	"monitoring.coreos.com/v1/PrometheusRule": func() metav1.Object { return &monitoringv1.PrometheusRule{} },
	"keda.sh/v1alpha1/ScaledObject":           func() metav1.Object { return &kedav1.ScaledObject{} },
}

func values(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := sigsyaml.UnmarshalStrict(data, &out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

// render is what helm template does, as the release "shop" in the namespace "mina".
func render(t *testing.T, with map[string]any) (map[string]string, error) {
	t.Helper()
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "shop", Namespace: "mina", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, with, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

// An object is one document of the chart, decoded.
type object struct {
	kind string
	metav1.Object
}

// decode reads every document into its own Go type; a field that the type does not
// have, or that stands twice, fails.
func decode(t *testing.T, rendered map[string]string) []object {
	t.Helper()
	var objects []object
	for name, text := range rendered {
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasSuffix(name, ".tpl") {
			continue
		}
		documents := yaml.NewYAMLReader(newReader(text))
		for {
			doc, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(bytes.ReplaceAll(doc, []byte("---"), nil))) == 0 {
				continue
			}
			var is metav1.TypeMeta
			if err := sigsyaml.Unmarshal(doc, &is); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			made, known := kinds[is.APIVersion+"/"+is.Kind]
			if !known {
				t.Fatalf("%s: no type for %s/%s\n%s", name, is.APIVersion, is.Kind, doc)
			}
			o := made()
			if err := sigsyaml.UnmarshalStrict(doc, o); err != nil {
				t.Errorf("%s: %s: %v\n%s", name, is.Kind, err, doc)
			}
			objects = append(objects, object{is.Kind, o})
		}
	}
	return objects
}

// TestRender: for each set of values the chart is what the golden file says, passes
// helm's lint, and is made of objects that Kubernetes knows.
func TestRender(t *testing.T) {
	t.Parallel()
	sets, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(sets) < 2 {
		t.Fatal(sets, err)
	}
	for _, path := range sets {
		name := strings.TrimSuffix(filepath.Base(path), ".values.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := values(t, path)
			for _, m := range lint.RunAll(chartDir, with, "mina").Messages {
				if m.Severity >= support.WarningSev {
					t.Errorf("lint: %v", m)
				}
			}
			rendered, err := render(t, with)
			if err != nil {
				t.Fatal(err)
			}
			checkObjects(t, decode(t, rendered))
			golden(t, filepath.Join("testdata", name+".golden.yaml"), join(rendered))
		})
	}
}

func join(rendered map[string]string) string {
	names := make([]string, 0, len(rendered))
	for name := range rendered {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		text := strings.TrimSpace(rendered[name])
		if text == "" || strings.HasSuffix(name, ".tpl") {
			continue
		}
		if strings.Contains(text, "sequencer.json:") { // 70 lines of board, 1,000 columns wide
			text = text[:strings.Index(text, "sequencer.json:")] + "sequencer.json: …"
		}
		out.WriteString("# " + name + "\n" + text + "\n---\n")
	}
	return out.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what is rendered: look at git diff after go test ./chartcheck -update", path)
	}
}

const payer = "B62qqGSmQpPaMqXyeBBKqWu4JNY9EWan1Zz1DRmTqkbiyWnNfi45yLr"

// TestRefused: what would start badly, or show a secret, is not rendered at all.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(v map[string]any){
		"settings.SEQUENCER_MINA_URL": func(v map[string]any) { v["settings"] = map[string]any{} },
		"secret: name the Secret":     func(v map[string]any) { v["secret"] = "" },
		"it is secret": func(v map[string]any) {
			v["settings"].(map[string]any)["SEQUENCER_API_KEYS"] = "a:admin:b"
		},
		"settings.SEQUENCER_LEDGER_AUTH: it is secret": func(v map[string]any) {
			v["settings"].(map[string]any)["SEQUENCER_LEDGER_AUTH"] = "saw=Bearer a"
		},
		"webhooks.keyName": func(v map[string]any) {
			v["settings"].(map[string]any)["SEQUENCER_WEBHOOKS_FILE"] = "/etc/webhooks.json"
		},
		"replicas": func(v map[string]any) { v["replicas"] = 0 },
		"accounts": func(v map[string]any) { v["workers"] = map[string]any{"accounts": []any{"B62"}} },
		"keySecret": func(v map[string]any) {
			v["workers"] = map[string]any{"accounts": []any{payer}}
		},
		"signers.policy": func(v map[string]any) {
			v["signers"] = map[string]any{"accounts": []any{payer}, "keySecret": "keys"}
		},
		"provers.max": func(v map[string]any) {
			v["signers"] = map[string]any{"accounts": []any{payer}, "keySecret": "keys", "policy": map[string]any{"maxFee": "1"}}
			v["provers"] = map[string]any{"replicas": 3, "max": 2}
		},
		"settings.SEQUENCER_PROVERS": func(v map[string]any) {
			v["settings"].(map[string]any)["SEQUENCER_PROVERS"] = "http://p:3000"
			v["signers"] = map[string]any{"accounts": []any{payer}, "keySecret": "keys", "policy": map[string]any{"maxFee": "1"}}
		},
		"typo": func(v map[string]any) { v["typo"] = true },
		"keda.prometheus": func(v map[string]any) {
			v["keda"] = map[string]any{"enabled": true}
			v["workers"] = map[string]any{
				"accounts":  []any{payer},
				"keySecret": "keys",
			}
		},
	} {
		with := values(t, "testdata/minimal.values.yaml")
		change(with)
		if _, err := render(t, with); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLedgersAlone: who hands batches to ledgers, and nothing else, needs no Mina node.
func TestLedgersAlone(t *testing.T) {
	t.Parallel()
	with := values(t, "testdata/minimal.values.yaml")
	with["settings"] = map[string]any{"SEQUENCER_TYPES": "SUBMIT_BATCH", "SEQUENCER_LEDGERS": "saw=sawtooth+http://saw:8008"}
	rendered, err := render(t, with)
	if err != nil {
		t.Fatal(err)
	}
	checkObjects(t, decode(t, rendered))
}

// TestDocs renders the values that the pages show.
func TestDocs(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"production.md": 10, "keys.md": 10} {
		text, err := os.ReadFile(filepath.Join("../../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		_, after, found := strings.Cut(string(text), "<!-- tested: values -->\n")
		block, _, ended := strings.Cut(after, "\n\n")
		if !found || !ended {
			t.Fatalf("docs/%s shows no values", page)
		}
		path := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		rendered, err := render(t, values(t, path))
		if err != nil {
			t.Fatalf("docs/%s: %v", page, err)
		}
		objects := decode(t, rendered)
		checkObjects(t, objects)
		if len(objects) < least {
			t.Errorf("docs/%s: %d objects", page, len(objects))
		}
	}
}

// TestApart: whoever runs contracts has no key and no Secret but the token, each prover that may run is named, and
// who has a key reaches nothing.
func TestApart(t *testing.T) {
	t.Parallel()
	rendered, err := render(t, values(t, "testdata/apart.values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decode(t, rendered) {
		switch is := o.Object.(type) {
		case *corev1.ConfigMap:
			if named := is.Data["SEQUENCER_PROVERS"]; named != "" && strings.Count(named, ",") != 3 {
				t.Errorf("provers are %s", named)
			}
			if named := is.Data["SEQUENCER_SENDERS"]; named != "" && (!strings.Contains(named, "-signer-0.") || !strings.Contains(named, "-worker-0.")) {
				t.Errorf("senders are %s", named)
			}
		case *appsv1.StatefulSet:
			secrets := 0
			for _, v := range is.Spec.Template.Spec.Volumes {
				if v.Secret != nil {
					secrets++
				}
			}
			if keyless := strings.HasSuffix(is.Name, "-prover"); keyless != (secrets == 0) {
				t.Errorf("%s is given %d Secrets", is.Name, secrets)
			}
		case *networkingv1.NetworkPolicy:
			if strings.HasSuffix(is.Name, "-signer") && len(is.Spec.Egress) > 0 {
				t.Errorf("%s may reach %v", is.Name, is.Spec.Egress)
			}
		}
	}
}
