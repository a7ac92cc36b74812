package queues_test

// read compares what the store shows.
func (m *model) read() bool {
	return true
}
