import { Field, method, Reducer, SmartContract, state, State } from 'o1js';

/** A contract with what a node has to serve: state, events and actions. */
export class Counter extends SmartContract {
  @state(Field) count = State<Field>();
  reducer = Reducer({ actionType: Field });
  override events = { raised: Field };

  override init() {
    super.init();
    this.count.set(Field(0));
  }

  @method async raise(by: Field) {
    const count = this.count.getAndRequireEquals();
    this.count.set(count.add(by));
    this.emitEvent('raised', by);
    this.reducer.dispatch(by);
  }
}
