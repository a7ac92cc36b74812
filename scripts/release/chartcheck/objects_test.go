package chartcheck

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	kedav1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(io.Reader(strings.NewReader(text))) }

// A pods is what makes pods, and how.
type pods struct {
	name string
	corev1.PodTemplateSpec
}

// checkObjects holds what decoding cannot see: what refers to each other, and what
// is promised of every pod.
func checkObjects(t *testing.T, objects []object) {
	t.Helper()
	names, made := map[string]bool{}, []pods{}
	for _, o := range objects {
		key := o.kind + "/" + o.GetName()
		if names[key] {
			t.Errorf("%s is made twice", key)
		}
		names[key] = true
		switch o := o.Object.(type) {
		case *appsv1.Deployment:
			made = append(made, pods{o.Name, o.Spec.Template})
			checkSelects(t, o.Name, o.Spec.Selector, o.Spec.Template.Labels)
			if *o.Spec.Replicas < 2 {
				t.Errorf("%d replicas", *o.Spec.Replicas)
			}
		case *appsv1.StatefulSet:
			made = append(made, pods{o.Name, o.Spec.Template})
			checkSelects(t, o.Name, o.Spec.Selector, o.Spec.Template.Labels)
		case *corev1.Pod:
			made = append(made, pods{o.Name, corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}})
		}
	}
	for _, p := range made {
		checkPods(t, p, names)
	}
	for _, o := range objects {
		checkReferences(t, o, made, names)
		if settings, is := o.Object.(*corev1.ConfigMap); is && settings.Data["SEQUENCER_ADDR"] != "" {
			checkGrace(t, settings.Data, made)
		}
	}
}

func checkSelects(t *testing.T, name string, selector *metav1.LabelSelector, of map[string]string) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() || !s.Matches(labels.Set(of)) {
		t.Errorf("%s: %v does not choose %v: %v", name, selector, of, err)
	}
}

func checkPods(t *testing.T, p pods, names map[string]bool) {
	t.Helper()
	s := p.Spec
	token := s.AutomountServiceAccountToken
	if token == nil || *token || !names["ServiceAccount/"+s.ServiceAccountName] {
		t.Errorf("%s: has a token of Kubernetes, or no account of its own", p.name)
	}
	if s.SecurityContext == nil || !*s.SecurityContext.RunAsNonRoot ||
		s.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: %+v", p.name, s.SecurityContext)
	}
	volumes := map[string]bool{"cache": true, "state": true} // claimed by template
	for _, v := range s.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range append(s.InitContainers, s.Containers...) {
		secure := c.SecurityContext
		if secure == nil || !*secure.ReadOnlyRootFilesystem || *secure.AllowPrivilegeEscalation ||
			len(secure.Capabilities.Drop) != 1 || secure.Capabilities.Drop[0] != "ALL" {
			t.Errorf("%s/%s: %+v", p.name, c.Name, secure)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s/%s: no limit of memory, or no share of the CPU", p.name, c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s/%s mounts %s, which is not there", p.name, c.Name, m.Name)
			}
		}
		for _, from := range c.EnvFrom {
			if !names["ConfigMap/"+from.ConfigMapRef.Name] {
				t.Errorf("%s/%s: there is no ConfigMap %s", p.name, c.Name, from.ConfigMapRef.Name)
			}
		}
		checkEnd(t, p.name, s, c)
	}
}

// checkGrace: a pod is given the time that its program takes to end.
func checkGrace(t *testing.T, settings map[string]string, made []pods) {
	t.Helper()
	least := 2 * time.Second // before it is told to
	for _, name := range []string{"SEQUENCER_SHUTDOWN_DELAY", "SEQUENCER_SHUTDOWN_TIMEOUT"} {
		d, err := time.ParseDuration(settings[name])
		if err != nil || d < 5*time.Second {
			t.Errorf("%s=%s: %v", name, settings[name], err)
		}
		least += d
	}
	for _, p := range made {
		if grace := p.Spec.TerminationGracePeriodSeconds; p.Spec.Containers[0].Name == "sequencer" && time.Duration(*grace)*time.Second <= least {
			t.Errorf("%s has %d seconds to end, and takes %v", p.name, *grace, least)
		}
	}
}

// checkEnd: a container that is asked to wait before it ends is given the time.
func checkEnd(t *testing.T, name string, s corev1.PodSpec, c corev1.Container) {
	t.Helper()
	if c.Name != "sequencer" {
		return
	}
	if c.Lifecycle.PreStop.Sleep.Seconds < 1 {
		t.Errorf("%s: told to end before the Service knows of it", name)
	}
	for what, probe := range map[string]*corev1.Probe{
		"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe,
	} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != what {
			t.Errorf("%s: no probe of %s", name, what)
		}
	}
}

// checkReferences: what chooses pods chooses some, and what names an object names
// one that is there.
func checkReferences(t *testing.T, o object, made []pods, names map[string]bool) {
	t.Helper()
	var chooses *metav1.LabelSelector
	switch is := o.Object.(type) {
	case *corev1.Service:
		chooses = &metav1.LabelSelector{MatchLabels: is.Spec.Selector}
	case *policyv1.PodDisruptionBudget:
		chooses = is.Spec.Selector
	case *networkingv1.NetworkPolicy:
		chooses = &is.Spec.PodSelector
		if len(is.Spec.PolicyTypes) != 2 {
			t.Errorf("%s leaves a direction open", is.Name)
		}
	case *networkingv1.Ingress:
		for _, rule := range is.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				if !names["Service/"+path.Backend.Service.Name] {
					t.Errorf("%s goes to %s, which is not there", is.Name, path.Backend.Service.Name)
				}
			}
		}
	case *kedav1.ScaledObject:
		if !names["StatefulSet/"+is.Spec.ScaleTargetRef.Name] {
			t.Errorf("%s scales %s, which is not there", is.Name, is.Spec.ScaleTargetRef.Name)
		}
	}
	if chooses == nil {
		return
	}
	s, err := metav1.LabelSelectorAsSelector(chooses)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range made {
		if s.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%s %s chooses %d kinds of pods", o.kind, o.GetName(), n)
	}
}
