import { Field, method, SmartContract, State, state } from 'o1js';

/** o1js's standard counter: a number on the chain that grows by two. */
export class Add extends SmartContract {
  @state(Field) num = State<Field>();

  override init() {
    super.init();
    this.num.set(Field(1));
  }

  @method async update() {
    const current = this.num.getAndRequireEquals();
    this.num.set(current.add(2));
  }
}
