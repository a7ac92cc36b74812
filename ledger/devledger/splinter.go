package devledger

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Defaults of a SplinterConfig's zero values.
const (
	DefaultService      = "devnt-local::a000"
	DefaultProposalTime = 500 * time.Millisecond
	DefaultRelease      = "0.6"
)

// Permissions of a SplinterConfig's Tokens.
const (
	ScabbardRead  = "scabbard.read"
	ScabbardWrite = "scabbard.write"
)

// maxURI is the longest request target that is taken, in bytes: as a proxy in
// front of a node has it. The real node takes longer ones.
const maxURI = 8192

// A SplinterConfig describes a node. The zero value of every field is usable.
type SplinterConfig struct {
	// Services are the Scabbard services, circuit::service. All those of a
	// circuit answer here, as if their nodes had one address.
	Services     []string
	ProposalTime time.Duration // from Valid to Committed
	// Release is "0.4", which never refuses for a full queue, "0.6", or "main",
	// which answers a wait that is over with what is known.
	Release string
	V1      bool // Scabbard protocol V1: no back pressure, verdicts are known where the batch was posted
	// Tokens are the Authorization headers that are let in, with their
	// permissions; nil: nobody is asked.
	Tokens map[string][]string
	Refuse Refuse // nil: RefuseMarked, which executes everything again
	Plan   Plan   // of what goes wrong; nil: nothing

	record func(Effect)
}

// Splinter is a simulated Splinter node with Scabbard services.
type Splinter struct {
	*core
	taker    taker
	config   SplinterConfig
	services map[string]*service // by circuit::service
	circuits []*circuit          // by id
	effects  []Effect
	mux      *http.ServeMux
}

// NewSplinter returns a node whose services have executed nothing. It fails for
// names that are none and values out of range.
func NewSplinter(config SplinterConfig) (*Splinter, error) {
	if len(config.Services) == 0 {
		config.Services = []string{DefaultService}
	}
	setDefault(&config.ProposalTime, DefaultProposalTime)
	setDefault(&config.Release, DefaultRelease)
	if config.Refuse == nil {
		config.Refuse = RefuseMarked
	}
	switch {
	case config.ProposalTime < 0:
		return nil, errors.New("devledger: a proposal time of at least 0")
	case !slices.Contains([]string{"0.4", "0.6", "main"}, config.Release):
		return nil, errors.New("devledger: release 0.4, 0.6 or main")
	}
	c := newCore(KindScabbard, config.Plan)
	n := &Splinter{core: c, config: config, services: map[string]*service{}, mux: http.NewServeMux()}
	n.taker = taker{core: c, wrong: splinterWrong}
	n.config.record = func(e Effect) { n.effects = append(n.effects, e) }
	for _, name := range config.Services {
		if err := n.addService(name); err != nil {
			return nil, err
		}
	}
	n.mux.HandleFunc("POST /scabbard/{circuit}/{service}/batches", n.guard(ScabbardWrite, n.postBatches))
	n.mux.HandleFunc("GET /scabbard/{circuit}/{service}/batch_statuses", n.guard(ScabbardRead, n.getStatuses))
	n.serveControl()
	return n, nil
}

// addService adds a service to its circuit.
func (n *Splinter) addService(name string) error {
	id, member, ok := strings.Cut(name, "::")
	if !ok || !isName(id, 11) || !isName(member, 4) {
		return fmt.Errorf("devledger: %.40q is no service: want circuit::service, like vzrQS-rvwf4::a001", name)
	}
	if n.services[name] != nil {
		return fmt.Errorf("devledger: the service %s is there twice", name)
	}
	byID := func(c *circuit, id string) int { return cmp.Compare(c.id, id) }
	i, found := slices.BinarySearchFunc(n.circuits, id, byID)
	if !found {
		added := &circuit{core: n.core, config: &n.config, id: id, times: map[string]int{}}
		n.circuits = slices.Insert(n.circuits, i, added)
	}
	c := n.circuits[i]
	s := &service{circuit: c, id: member, history: map[string]*record{}, up: n.at}
	c.services = append(c.services, s)
	slices.SortFunc(c.services, func(a, b *service) int { return cmp.Compare(a.id, b.id) })
	n.services[name] = s
	return nil
}

// isName says whether a name is so many letters and digits, with a hyphen in
// the middle of a long one.
func isName(name string, length int) bool {
	if len(name) != length {
		return false
	}
	for i, r := range name {
		letter := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if letter == (length > 4 && i == length/2) || !letter && r != '-' {
			return false
		}
	}
	return true
}

// ServeHTTP serves the services, and /control/ for whoever breaks them on purpose.
func (n *Splinter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.open()
	if len(r.RequestURI) > maxURI {
		answer{status: http.StatusRequestURITooLong}.write(w)
		return
	}
	n.mux.ServeHTTP(w, r)
}

// guard asks who calls, and in which version of the protocol.
func (n *Splinter) guard(permission string, do func(http.ResponseWriter, *http.Request, *service)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n.config.Tokens != nil && !slices.Contains(n.config.Tokens[r.Header.Get("Authorization")], permission) {
			message(http.StatusUnauthorized, "Unauthorized").write(w)
			return
		}
		if version := r.Header.Get("SplinterProtocolVersion"); version != "" && version != "1" {
			requested, _ := strconv.Atoi(version)
			answer{status: http.StatusBadRequest, body: map[string]any{
				"message":            "the protocol version is not one that is supported",
				"requested_protocol": requested, "splinter_protocol": 1, "libsplinter_version": n.config.Release,
			}}.write(w)
			return
		}
		do(w, r, n.services[r.PathValue("circuit")+"::"+r.PathValue("service")])
	}
}

// message is an answer with a text, coded one with the status as its code too.
func message(status int, text string) answer {
	return answer{status: status, body: map[string]string{"message": text}}
}

func coded(status int, text string) answer {
	return answer{status: status, body: map[string]string{"code": strconv.Itoa(status), "message": text}}
}

func splinterWrong(f Fault) answer {
	switch {
	case f.Body != "":
		return answer{status: f.Status, body: f.Body}
	case f.Status == http.StatusTooManyRequests:
		return answer{status: f.Status}
	case f.Status == http.StatusBadRequest || f.Status == http.StatusInternalServerError:
		return coded(f.Status, "a planned fault")
	case f.Status > http.StatusInternalServerError:
		return answer{status: f.Status, body: fmt.Sprintf(proxyPage, f.Status, http.StatusText(f.Status))}
	}
	return message(f.Status, "a planned fault")
}

func (n *Splinter) postBatches(w http.ResponseWriter, r *http.Request, s *service) {
	body, tooLong := readBody(w, r)
	list, err := ParseBatchList(body)
	f := n.fault(Post, ids(list))
	n.taker.post(w, r, f, func() answer {
		switch {
		case s == nil || n.at.Before(s.up):
			return message(http.StatusNotFound, "the service is not running")
		case tooLong:
			return answer{status: http.StatusRequestEntityTooLarge}
		case err != nil:
			return coded(http.StatusBadRequest, "the body is no list of batches")
		}
		return s.submit(list, f)
	})
}

// submit checks a list and queues all of it or nothing.
func (s *service) submit(list []*Batch, f Fault) answer {
	if s.circuit.full() {
		return answer{status: http.StatusTooManyRequests}
	}
	for _, b := range list {
		err := errors.Join(b.err)
		for _, t := range b.Transactions {
			err = errors.Join(err, t.err)
		}
		switch {
		case err != nil:
			return coded(http.StatusBadRequest, "a header is none: "+err.Error())
		case !b.signaturesAreHex():
			return coded(http.StatusInternalServerError, "a signature is not hex")
		}
		if err = b.checkSignatures(); err == nil {
			err = b.checkStructure(false)
		}
		if err != nil {
			return coded(http.StatusBadRequest, err.Error())
		}
	}
	if !s.circuit.take(s, list, f) {
		return coded(http.StatusInternalServerError, "the coordinator cannot be reached")
	}
	return answer{status: http.StatusAccepted, body: map[string]any{
		"link": "/scabbard/" + s.circuit.id + "/" + s.id + "/batch_statuses?ids=" + strings.Join(ids(list), ","),
	}}
}
