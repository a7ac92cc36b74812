package devnet

import (
	"context"
	"errors"
	"fmt"
)

// What sends a command in. The context says where to note that a request did,
// for a node that loses the reply.

type sendZkappPayload struct{ Zkapp zkappResolver }

func (r *root) SendZkapp(ctx context.Context, args struct {
	Input struct{ ZkappCommand commandInput }
}) (*sendZkappPayload, error) {
	c, err := newZkapp(&args.Input.ZkappCommand)
	if err != nil {
		return nil, err
	}
	if err := r.send(ctx, c); err != nil {
		return nil, prefixed("Couldn't send zkApp command: ", err)
	}
	return &sendZkappPayload{zkappResolver{included{command: c}}}, nil
}

type sendPaymentPayload struct{ Payment paymentResolver }

func (r *root) SendPayment(ctx context.Context, args struct {
	Input     paymentInput
	Signature *struct{ Field, Scalar, RawSignature *string }
}) (*sendPaymentPayload, error) {
	in := &args.Input
	if err := r.settleNonce(in); err != nil {
		return nil, err
	}
	// Mina: without a signature the daemon signs with a key of its own wallet.
	c, err := newPayment(in, true)
	if err != nil {
		return nil, err
	}
	if least := r.d.network.config.MinFee; c.Fee < least {
		return nil, fmt.Errorf("Invalid user command. Fee %s is less than the minimum fee, %s.", mina(c.Fee), mina(least)) //nolint:staticcheck // the daemon's text
	}
	if err := r.send(ctx, c); err != nil {
		return nil, prefixed("Couldn't send user command: ", err)
	}
	return &sendPaymentPayload{paymentResolver{r.d, included{command: c}}}, nil
}

// mina writes an amount of nanomina in MINA.
func mina(amount uint64) string { return fmt.Sprintf("%d.%09d", amount/1e9, amount%1e9) }

// settleNonce fills in the inferred nonce, or checks the given one.
func (r *root) settleNonce(in *paymentInput) error {
	d, unlock := r.lock()
	defer unlock()
	a := d.account(string(in.From))
	if a == nil || !d.frontier() {
		return errors.New("Couldn't infer nonce for transaction from specified `sender` since `sender` is not in the ledger or sent a transaction in transaction pool.") //nolint:staticcheck // the daemon's text
	}
	inferred := d.inferredNonce(string(in.From), a)
	if in.Nonce == nil {
		in.Nonce = new(decimal(inferred))
		return nil
	}
	nonce, err := readUint32(*in.Nonce)
	if err != nil {
		return fmt.Errorf("reading nonce: %w", err)
	}
	if nonce < a.nonce || nonce > inferred {
		return fmt.Errorf("Input nonce %d either different from inferred nonce %d or below minimum_nonce %d", nonce, inferred, a.nonce) //nolint:staticcheck // the daemon's text
	}
	return nil
}

func (r *root) send(ctx context.Context, c *command) error {
	d, unlock := r.lock()
	defer unlock()
	if sent, ok := ctx.Value(sendKey{}).(*bool); ok {
		*sent = true
	}
	return d.admit(c)
}

func prefixed(prefix string, err error) error {
	var refused poolError
	if errors.As(err, &refused) {
		return errors.New(prefix + string(refused))
	}
	return err
}
