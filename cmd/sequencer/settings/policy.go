package settings

import "mina-sequencer/sequencer/lifecycle"

// Policy is what the decisions about transactions go by.
func (c Config) Policy() lifecycle.Policy {
	return lifecycle.Policy{
		CycleInterval: c.Cycle.Interval, InclusionInterval: c.Cycle.InclusionInterval,
		DispatchTimeout: c.Cycle.DispatchTimeout, CallbackWait: c.Cycle.CallbackWait,
		MaxRetries: c.Retry.Max, RetryDelay: c.Retry.Delay, RetryDelayMax: c.Retry.DelayMax,
		Confirmations: c.Depth.Confirmations, SettleDepth: c.Depth.Settle, Finality: c.Depth.Finality,
		Fee: uint64(c.Fee.first()), FeeMax: uint64(c.Fee.Max), FeeBump: c.Fee.Bump.Float(),
		FeeAuto: c.Fee.First.auto, FeeMin: uint64(c.Fee.Min), FeeTarget: c.Fee.Target,
		BlockZkapps: c.Fee.BlockZkapps,
		BumpAfter:   uint32(c.Fee.BumpAfter), ValidSlots: uint32(c.Fee.ValidSlots),
		ClaimTTL: c.Claim.TTL, ClaimLimit: c.Claim.Limit, Retention: c.Keep.Retention, RetentionFailed: c.Keep.RetentionFailed,
		ShutdownTimeout: c.HTTP.ShutdownTimeout, LedgerPatience: c.Ledgers.Patience,
		LedgerRetries: c.Ledgers.Retries, LedgerDelay: c.Ledgers.Delay,
		BalanceInterval: c.Senders.BalanceInterval, MinBalance: uint64(c.Senders.MinBalance),
		FeeLimitSender: uint64(c.Fee.LimitSender), FeeLimit: uint64(c.Fee.Limit),
		FeeLimitQueue: uint64(c.Fee.LimitQueue), FeeLimitKey: uint64(c.Fee.LimitKey),
		Width: c.Types.Width, UnresolvedLimit: c.Retry.UnresolvedLimit, BumpOnPrice: c.Fee.BumpOn == onPrice,
	}
}
