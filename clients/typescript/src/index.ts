export { Sequencer, type SequencerOptions } from './client.js';
export type * from './types.js';
export type { SequencerEvent, EventFilter, EventOptions } from './events.js';
export {
  SequencerError,
  EventsGoneError,
  UnansweredError,
  type Problem,
  type ProblemCode,
  type FieldError,
} from './errors.js';
export { parse, stringify, LosslessNumber } from './json.js';
export type { paths, components, operations } from './schema.js';
