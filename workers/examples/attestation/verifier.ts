import { preferNative } from '@mina-sequencer/worker-kit';
import { Claim, Credential, Operation, Presentation, PresentationSpec } from 'mina-attestations';
import { type DeployArgs, Field, method, SmartContract, State, state } from 'o1js';

/** What is asked of the holder of a credential: that it is old enough. Who has issued it is told, and no more. */
const spec = PresentationSpec(
  { credential: Credential.Native({ age: Field }), minAge: Claim(Field) },
  ({ credential, minAge }) => ({
    assert: [Operation.lessThanEq(minAge, Operation.property(credential, 'age'))],
    outputClaim: Operation.issuer(credential),
  }),
);
preferNative(); // before anything is compiled
export const precompiled = await Presentation.precompile(spec);

export class ProvablePresentation extends precompiled.ProvablePresentation {}

export const MIN_AGE = Field(18);

/** Counts presentations of credentials by one issuer. */
export class Verifier extends SmartContract {
  @state(Field) issuer = State<Field>();
  @state(Field) verified = State<Field>();

  override async deploy(args: DeployArgs & { issuer: Field }) {
    await super.deploy(args);
    this.issuer.set(args.issuer);
  }

  @method async verify(presentation: ProvablePresentation) {
    const { publicKey, tokenId } = this.self;
    const { claims, outputClaim } = presentation.verify({ publicKey, tokenId, methodName: 'verify' });
    claims.minAge.assertEquals(MIN_AGE);
    outputClaim.assertEquals(this.issuer.getAndRequireEquals());
    this.verified.set(this.verified.getAndRequireEquals().add(1));
  }
}
