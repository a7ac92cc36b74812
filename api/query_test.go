package api

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUnknownParameters: no route of the API takes a parameter that its description does not have,
// and none does anything then. HEAD is as GET.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
	before := s.redis.Dump()
	path := strings.NewReplacer("{uid}", "u", "{name}", "q", "{accountId}", "B62x", "{id}", "e")
	for _, op := range openDocument(t).operations {
		if !strings.HasPrefix(op.path, base) {
			continue
		}
		body := map[bool]string{true: "{}"}[op.method == "POST"]
		for _, query := range []string{"nonesuch=1", "until=2030-01-01T00:00:00Z&nonesuch", "%zz"} {
			s.serve(httptest.NewRequest(op.method, path.Replace(op.path)+"?"+query, strings.NewReader(body))).wantProblem(400, "BAD_REQUEST")
		}
	}
	s.serve(httptest.NewRequest("HEAD", base+"/queues?nonesuch=1", nil)).want(400)
	if after := s.redis.Dump(); after != before {
		t.Errorf("something was done:\n%s\nwas\n%s", after, before)
	}
}
