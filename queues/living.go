package queues

import (
	"context"
	"encoding/json"

	"mina-sequencer/sequencer/tx"
)

// says is what this process tells of itself with a heartbeat, "" for nothing.
func (s *Store) says() string {
	if s.Says == nil {
		return ""
	}
	word, err := json.Marshal(s.Says())
	if err != nil {
		panic(err) // words and times
	}
	return string(word)
}

// Living returns the processes whose claims live, as each told of itself when it renewed them: that
// is at most a third of a claim's life ago. Error: ErrUnavailable.
func (s *Store) Living(ctx context.Context) ([]tx.Binder, error) {
	pipe := s.client.Pipeline()
	now := pipe.Time(ctx)
	claims := pipe.ZRangeWithScores(ctx, s.key("procs"), 0, -1)
	said := pipe.HGetAll(ctx, s.key("said"))
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, storeError("reading who lives", err)
	}
	var all []tx.Binder
	for _, z := range claims.Val() {
		process, _ := z.Member.(string)
		if int64(z.Score) <= now.Val().UnixMilli() {
			continue
		}
		b := tx.Binder{}
		word, told := said.Val()[process]
		b.Mute = !told || json.Unmarshal([]byte(word), &b) != nil
		b.Process = process
		all = append(all, b)
	}
	return all, nil
}
