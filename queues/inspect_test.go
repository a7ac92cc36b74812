package queues_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/tx"
)

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(tx.Transaction{})); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

type event struct {
	Number                                    int
	Kind, ID, Sender, From, To, Attempt, Code string
}

var queueWords = strings.Fields(
	"waiting done failed unresolved back popped run sender hold holder ready first since streak till width narrow")

// dump is all that a namespace holds, by key without its prefix.
type dump struct {
	now     float64
	strings map[string]string
	hashes  map[string]map[string]string
	lists   map[string][]string
	sets    map[string]map[string]float64
	events  []event
	told    []string    // when, of each event
	showed  [][2]string // of each the phases that its queue showed before and after it, as they stand there
}

func (f *fixture) dump() dump {
	f.Helper()
	all, err := f.client.Keys(f.ctx, "*").Result()
	f.ok(err)
	var keys []string
	for _, k := range all {
		if strings.HasPrefix(k, f.key("")) {
			keys = append(keys, k)
		} else if k[0] != '{' {
			f.Errorf("a key of no namespace: %q", k)
		}
	}
	slices.Sort(keys)
	d := dump{
		strings: map[string]string{}, hashes: map[string]map[string]string{},
		lists: map[string][]string{}, sets: map[string]map[string]float64{},
	}
	read, left := map[string]redis.Cmder{}, map[string]*redis.DurationCmd{}
	clock := f.client.Time(f.ctx)
	_, err = f.client.Pipelined(f.ctx, func(p redis.Pipeliner) error {
		for _, k := range keys {
			name := strings.TrimPrefix(k, f.key(""))
			left[name] = p.PTTL(f.ctx, k)
			switch kind, _, _ := strings.Cut(name, ":"); kind {
			case "t", "x", "q", "b", "batch", "gone", "n", "is", "ping", "turn", "rate", "stops":
				read[name] = p.Get(f.ctx, k)
			case "f", "s", "recovery", "waiting", "fees", "budgets", "over":
				read[name] = p.HGetAll(f.ctx, k)
			case "line", "page":
				read[name] = p.LRange(f.ctx, k, 0, -1)
			case "back", "past", "ready", "round", "bound", "st", "free", "own", "procs", "due", "queues", "active", "paused",
				"limited", "pages", "senders", "landed", "spent":
				read[name] = p.ZRangeWithScores(f.ctx, k, 0, -1)
			case "market":
				if name == "market:looks" {
					read[name] = p.LRange(f.ctx, k, 0, -1)
				} else {
					read[name] = p.HGetAll(f.ctx, k)
				}
			case "events":
				read[name] = p.XRange(f.ctx, k, "-", "+")
			default:
				f.Errorf("a key that the layout does not name: %s", k)
			}
		}
		return nil
	})
	f.ok(err)
	d.now = float64(clock.Val().UnixMilli())
	defer func() {
		for name, text := range d.strings {
			head, rest, _ := strings.Cut(text, "\n")
			words := strings.Split(head, " ")
			switch kind, _, _ := strings.Cut(name, ":"); {
			case kind == "q" && len(words) == len(queueWords):
				d.hashes[name] = map[string]string{"paused": rest}
				for i, w := range words {
					d.hashes[name][queueWords[i]] = w
				}
			case kind == "x" && len(words) == 13:
				d.hashes[name] = map[string]string{
					"rev": words[0], "claim": words[2], "phase": words[3], "sender": words[4], "open": words[7],
				}
			}
		}
	}()
	for name, c := range read {
		switch c := c.(type) {
		case *redis.StringCmd:
			d.strings[name] = c.Val()
		case *redis.MapStringStringCmd:
			d.hashes[name] = c.Val()
		case *redis.StringSliceCmd:
			d.lists[name] = c.Val()
		case *redis.ZSliceCmd:
			m := map[string]float64{}
			for _, z := range c.Val() {
				m[z.Member.(string)] = z.Score
			}
			d.sets[name] = m
		case *redis.XMessageSliceCmd:
			for _, m := range c.Val() {
				line, _ := m.Values["e"].(string)
				w := strings.Fields(line)
				if len(w) == 2 { // just accepted
					w = []string{w[0], "t", w[1], "-", "-", "waiting", "-", "-"}
				}
				for i := range w {
					w[i] = strings.TrimPrefix(w[i], "-")
				}
				var showed [2]string
				for i := range showed {
					own, shown, apart := strings.Cut(w[4+i], "/")
					if w[4+i] = own; !apart {
						shown = "waiting"
						if own != "" && tx.Phase(own).Bound() {
							shown = own
						}
					}
					showed[i] = shown
				}
				d.showed = append(d.showed, showed)
				n, _ := strconv.Atoi(strings.TrimPrefix(m.ID, "0-"))
				d.events = append(d.events, event{n, w[1], w[2], w[3], w[4], w[5], w[6], w[7]})
				d.told = append(d.told, w[0])
			}
		}
	}
	for name, c := range left {
		f.inspectEnd(&d, name, c.Val())
	}
	return d
}

// told are the events of a kind so far, without their numbers.
func (f *fixture) told(kind string) (all []event) {
	f.Helper()
	for _, e := range f.dump().events {
		if e.Number = 0; e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// inspectEnd wants the clock to end those keys that the layout says it ends, and no other:
// what a day has cost, eight days after something was first counted with it.
func (f *fixture) inspectEnd(d *dump, name string, left time.Duration) {
	f.Helper()
	kind, rest, _ := strings.Cut(name, ":")
	switch uid, batch := d.strings[name]; {
	case kind == "fees", kind == "spent", kind == "budgets":
		day, err := strconv.Atoi(rest)
		f.ok(err)
		// Time passes between the questions.
		if in := d.now + float64(left.Milliseconds()) - 86400000*float64(day+8); in < -60000 || in >= 86400000 {
			f.Errorf("%s ends %s from now, which is not the ninth day", name, left)
		}
	case kind == "batch" && batch && uid != "":
		if _, there := d.strings["t:"+uid]; left >= 0 || !there {
			f.Errorf("%s ends %s from now (-1ns: never), and that %s is there is %t", name, left, uid, there)
		}
	case slices.Contains([]string{"gone", "batch", "turn", "rate", "ping", "over"}, kind), name == "market:looks":
		if left < 0 {
			f.Errorf("%s is kept for ever", name)
		}
	default:
		if left >= 0 {
			f.Errorf("%s ends %s from now", name, left)
		}
	}
}

// txn is what the layout says of a transaction, read without the store's code.
type txn struct {
	uid, typ, queue, phase, claim, sender, by string
	seq, begins, expires                      float64
}

func (d *dump) transactions() map[string]txn {
	all := map[string]txn{}
	for key, record := range d.strings {
		uid, ok := strings.CutPrefix(key, "t:")
		if !ok {
			continue
		}
		head, _, _ := strings.Cut(record, "\n")
		w := strings.Split(head, " ")
		x := d.hashes["x:"+uid]
		seq, _ := strconv.ParseFloat(w[0], 64)
		w = append(w, "", "", "", "", "", "") // without terms
		begins, _ := strconv.ParseFloat(w[4], 64)
		expires, _ := strconv.ParseFloat(w[5], 64)
		all[uid] = txn{uid, w[2], w[3], cmp.Or(x["phase"], "waiting"), x["claim"], x["sender"], w[9], seq, begins, expires}
	}
	return all
}

// inspectTrain holds what runs of one queue together: one sender, one process. It returns
// the first, with the uids of all in order.
func (f *fixture) inspectTrain(queue string, train []txn) txn {
	f.Helper()
	slices.SortFunc(train, func(a, b txn) int { return cmp.Compare(a.seq, b.seq) })
	all := train[0]
	all.uid = strings.Join(uidsOf(train), ",")
	for _, t := range train {
		process, _, _ := strings.Cut(t.claim, ":")
		if first, _, _ := strings.Cut(all.claim, ":"); t.sender != all.sender || process != first {
			f.Errorf("queue %s runs %s, whose senders or processes are several", queue, all.uid)
		}
	}
	return all
}

// inspect holds everything that is stored against everything else. It is what
// every test ends with.
func (f *fixture) inspect() {
	f.Helper()
	d := f.dump()
	all := d.transactions()
	sets := map[string]map[string]float64{} // as they should be
	put := func(set, member string, score float64) {
		if sets[set] == nil {
			sets[set] = map[string]float64{}
		}
		sets[set][member] = score
	}
	lines, counts := map[string][]txn{}, map[string]map[string]int{}
	running, trains := map[string]txn{}, map[string][]txn{}
	pages := map[string][]txn{}
	for _, t := range all {
		p := tx.Phase(t.phase)
		if counts[t.queue] == nil {
			counts[t.queue] = map[string]int{}
		}
		counts[t.queue][t.phase]++
		put("queues", t.queue, 0)
		page := strconv.Itoa(int(t.seq) / 512)
		put("pages", page, float64(int(t.seq)/512))
		pages["page:"+page] = append(pages["page:"+page], t)
		switch {
		case p.Bound():
			put("bound", t.uid, t.seq)
		case p != tx.PhaseWaiting:
			put("st:"+string(p.State()), t.uid, t.seq)
		}
		if d.hashes["x:"+t.uid] != nil {
			put("past:"+t.queue, t.uid, t.seq)
		}
		if p == tx.PhaseWaiting {
			lines[t.queue] = append(lines[t.queue], t)
		}
		if p.Bound() {
			trains[t.queue] = append(trains[t.queue], t)
			if t.claim == "" {
				f.Errorf("%s is bound and nobody's", t.uid)
			}
		}
		if t.claim != "" {
			process, _, _ := strings.Cut(t.claim, ":")
			put("own:"+process, t.uid, d.sets["own:"+process][t.uid])
			if _, ok := d.sets["procs"][process]; !ok {
				f.Errorf("%s is claimed by %s, which nobody can take over from", t.uid, process)
			}
		}
	}
	for queue, train := range trains {
		running[queue] = f.inspectTrain(queue, train)
	}
	for name, set := range d.sets {
		for uid, at := range set { // what was taken from its owner stays until that one has looked
			if strings.HasPrefix(name, "own:") && at <= d.now {
				put(name, uid, at)
			}
		}
	}
	waiting := map[string]string{}
	for typ, n := range d.hashes["waiting"] {
		if n != "0" {
			waiting[typ] = n
		}
	}
	equal(f.T, "waiting by type", waiting, waitingByType(all))
	bySequence := func(a, b txn) int { return cmp.Compare(a.seq, b.seq) }
	for name, ts := range pages {
		slices.SortFunc(ts, bySequence)
		equal(f.T, name, d.lists[name], uidsOf(ts))
		delete(d.lists, name)
	}
	for name, ts := range lines {
		slices.SortFunc(ts, bySequence)
		lines[name] = ts
		// Both parts together are the waiting ones, each in its order.
		got := slices.SortedFunc(maps.Keys(d.sets["back:"+name]), func(a, b string) int { return bySequence(all[a], all[b]) })
		for _, uid := range got {
			if d.strings["x:"+uid] == "" {
				f.Errorf("%s stands among those that came back, and has not changed", uid)
			}
		}
		for _, uid := range d.lists["line:"+name] {
			if all[uid].phase == "waiting" {
				got = append(got, uid)
			}
		}
		equal(f.T, "waiting in "+name, got, uidsOf(ts))
	}
	for key, x := range d.hashes {
		kind, id, _ := strings.Cut(key, ":")
		switch kind {
		case "x":
			if _, ok := all[id]; !ok {
				f.Errorf("%s is left over: %v", key, x)
			}
		case "q":
			f.inspectQueue(&d, id, x, lines[id], counts[id], running[id], put)
		case "s":
			if x["group"] == "" {
				continue // what is known of one that was removed
			}
			put("senders", id, 0)
			if q := x["queue"]; q != "" {
				if r := running[q]; r.sender != id {
					f.Errorf("sender %s is bound to %s, whose sender is %q", id, q, r.sender)
				}
			} else if x["reason"] == "" {
				put("free:"+x["group"], id, d.sets["free:"+x["group"]][id])
			}
		}
	}
	for q, t := range running {
		if s := d.hashes["s:"+t.sender]; s["queue"] != q {
			f.Errorf("queue %s has sender %s, which is bound to %q", q, t.sender, s["queue"])
		}
	}
	for name, want := range sets {
		equal(f.T, name, d.sets[name], want)
		delete(d.sets, name)
	}
	for _, own := range []string{"due", "procs"} {
		delete(d.sets, own)
	}
	for name, left := range d.sets {
		kind, queue, _ := strings.Cut(name, ":")
		if kind != "landed" && kind != "spent" && (kind != "back" || counts[queue] == nil) {
			f.Errorf("%s is left over: %v", name, left)
		}
	}
	for name, left := range d.lists {
		kind, queue, _ := strings.Cut(name, ":")
		paused := d.hashes["q:"+queue] != nil // which is all that keeps it: vacant places may be left
		taken := slices.ContainsFunc(left, func(entry string) bool { return !strings.HasPrefix(entry, "#") })
		if kind != "market" && (kind != "line" || counts[queue] == nil && (!paused || taken)) {
			f.Errorf("%s is left over: %v", name, left)
		}
	}
	f.inspectEvents(&d, all)
}

func (f *fixture) inspectQueue(d *dump, name string, q map[string]string, line []txn, counts map[string]int, run txn,
	put func(string, string, float64)) {
	f.Helper()
	put("queues", name, 0)
	if q["paused"] != "" {
		put("paused", name, 0)
	}
	if len(line) > 0 || run.uid != "" {
		put("active", name, d.sets["active"][name])
		put("active", "#"+name, d.sets["active"]["#"+name])
	}
	for _, phase := range []string{"waiting", "done", "failed", "unresolved"} {
		if n, _ := strconv.Atoi(q[phase]); n != counts[phase] {
			f.Errorf("queue %s counts %d %s, there are %d", name, n, phase, counts[phase])
		}
	}
	if q["run"] != run.uid || q["sender"] != run.sender {
		f.Errorf("queue %s says %s runs with %s; it is %s with %s", name, q["run"], q["sender"], run.uid, run.sender)
	}
	hold, _ := strconv.ParseFloat(q["hold"], 64)
	ready := len(line) > 0 && run.uid == "" && q["paused"] == "" && hold <= d.now
	if ready && line[0].begins > d.now {
		ready = false
		if at, planned := d.sets["due"]["q:"+name]; !planned || at != line[0].begins && at > d.now {
			f.Errorf("nobody looks at queue %s when its next may be bound", name)
		}
	}
	for _, t := range line {
		if _, planned := d.sets["due"]["d:"+t.uid]; !planned && t.expires > 0 {
			f.Errorf("nobody looks at %s, which waits, when it expires", t.uid)
		}
	}
	if _, planned := d.sets["due"]["p:"+name]; planned != (q["till"] != "") {
		f.Errorf("queue %s is paused until %q, and that is looked at: %v", name, q["till"], planned)
	}
	ended := strings.HasSuffix(q["paused"], " transactions in a row ended UNRESOLVED")
	since, limited := d.sets["limited"][name]
	if limited {
		put("limited", name, since)
	}
	if limited != ended {
		f.Errorf("queue %s is paused for %q, and a person hears of a limit: %v", name, q["paused"], limited)
	}
	if at, planned := d.sets["due"]["q:"+name]; ready && planned && at <= d.now {
		ready = q["ready"] != "" // the next tick may be about to do it
	}
	switch {
	case ready:
		since, _ := strconv.ParseFloat(q["since"], 64)
		put("active", name, since)
		put("active", "#"+name, line[0].seq)
		as := line[0].typ
		if seat := explorer.Seat(line[0].by); seat == 0 {
			put("ready:"+as, name, since)
		} else {
			put("round:"+as, q["since"]+" "+name, float64(seat))
			as += fmt.Sprint("@", seat)
		}
		if q["ready"] != as || q["first"] != line[0].uid {
			f.Errorf("queue %s is noted in ready set %q with %s, its head is %s of %s",
				name, q["ready"], q["first"], line[0].uid, line[0].typ)
		}
	case q["ready"] != "" || q["first"] != "":
		f.Errorf("queue %s is noted in ready set %q and cannot run: %v", name, q["ready"], q)
	}
}

// inspectEvents wants numbers without a gap, and for each transaction a chain
// of changes from its acceptance to where it is.
func (f *fixture) inspectEvents(d *dump, all map[string]txn) {
	f.Helper()
	last := map[string]string{}
	dropped := 0 // which are kept no longer
	if len(d.events) > 0 {
		dropped = d.events[0].Number - 1
	}
	for i, e := range d.events {
		if e.Number != dropped+i+1 {
			f.Errorf("event %d has number %d", dropped+i+1, e.Number)
		}
		if e.Kind != "t" {
			continue
		}
		if from, told := last[e.ID]; e.From != from && (told || dropped == 0) {
			f.Errorf("event %d moves %s from %q, it was %q", e.Number, e.ID, e.From, from)
		}
		last[e.ID] = e.To
	}
	if !f.veiled {
		f.inspectShown(d, all, dropped)
	}
	for uid, t := range all {
		if phase, told := last[uid]; phase != t.phase && (told || dropped == 0) {
			f.Errorf("the events leave %s in %q, it is %q", uid, phase, t.phase)
		}
		delete(last, uid)
	}
	for uid, phase := range last {
		if phase != "" {
			f.Errorf("the events leave %s in %q, it is gone", uid, phase)
		}
	}
}

// inspectShown wants from the events alone what each queue shows, without a gap. Whose queue a
// transaction that is gone was of is not known here.
func (f *fixture) inspectShown(d *dump, all map[string]txn, dropped int) {
	f.Helper()
	shown := map[string]string{}
	for i, e := range d.events {
		queue := e.ID
		if e.Kind == "t" {
			queue = all[e.ID].queue
			if key, gone := d.strings["gone:"+e.ID]; gone {
				_, queue, _ = strings.Cut(key, " ")
			}
		}
		if e.Kind == "s" {
			continue
		}
		if queue == "" { // that of any may have moved
			clear(shown)
			dropped = 1
			continue
		}
		if was, told := shown[queue]; d.showed[i][0] != cmp.Or(was, "waiting") && (told || dropped == 0) {
			f.Errorf("event %d moves queue %s from %s, it was %q", e.Number, queue, d.showed[i][0], was)
		}
		shown[queue] = d.showed[i][1]
	}
	for key, q := range d.hashes {
		name, is := strings.CutPrefix(key, "q:")
		if !is {
			continue
		}
		first, _, _ := strings.Cut(q["run"], ",")
		phase := "waiting"
		if first != "" {
			phase = all[first].phase
		}
		if last, told := shown[name]; last != phase && told {
			f.Errorf("the events leave queue %s in %s, it is %s", name, last, phase)
		}
	}
}

func waitingByType(all map[string]txn) map[string]string {
	counts := map[string]int{}
	for _, t := range all {
		if t.phase == string(tx.PhaseWaiting) {
			counts[t.typ]++
		}
	}
	shown := map[string]string{}
	for typ, n := range counts {
		shown[typ] = strconv.Itoa(n)
	}
	return shown
}

func uidsOf(ts []txn) []string {
	uids := make([]string, len(ts))
	for i, t := range ts {
		uids[i] = t.uid
	}
	return uids
}
