/**
 * A fault in one field of a task's input that only the work itself shows: the closed list of such faults, with the
 * reason for which each fails a task and the message that a caller reads. A fault passes through Temporal, so it holds
 * only a member of this list and the position of the field, which comes from a model's schema: never a value, a URL or
 * a string of the input.
 */

interface FaultDescription {
  /** The failure of a task with this fault. */
  readonly reason: 'input_unreachable' | 'input_invalid';
  readonly message: string;
}

/** A URL that we must not reach is reported as `unreachable`, like any other, so that no client can map our network. */
const FAULTS = {
  unreachable: {
    reason: 'input_unreachable',
    message: 'the URL could not be fetched; check that it is public and responds',
  },
  too_slow: { reason: 'input_unreachable', message: 'the file could not be downloaded from the URL in time' },
  not_served: {
    reason: 'input_unreachable',
    message: 'the URL responded, but not with a file; check that the file still exists and requires no login',
  },
  untrusted: { reason: 'input_unreachable', message: 'the server of the URL has no trusted TLS certificate' },
  gone: { reason: 'input_unreachable', message: 'the file is no longer stored here' },
  too_large: { reason: 'input_invalid', message: 'the file is too large for this field' },
  too_large_together: {
    reason: 'input_invalid',
    message: 'the files of this input are too large in total; this is the largest',
  },
  wrong_type: { reason: 'input_invalid', message: 'this field does not accept files of this type' },
  undecodable: { reason: 'input_invalid', message: 'the file could not be decoded' },
  too_many_pixels: { reason: 'input_invalid', message: 'the file has more pixels than can be processed' },
  too_long: { reason: 'input_invalid', message: 'the file is longer than can be processed' },
  longer_than_held: {
    reason: 'input_invalid',
    message: 'the file is longer than the seconds that the price was held for; allow more of them',
  },
  missing: { reason: 'input_invalid', message: 'a file is required here' },
  unlettered: { reason: 'input_invalid', message: 'no available font can draw a quoted text in the prompt' },
  unusable_text: { reason: 'input_invalid', message: 'nothing in the text can be spoken or sung' },
} as const satisfies Readonly<Record<string, FaultDescription>>;

/** What is wrong with a field. */
export type FaultKind = keyof typeof FAULTS;

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** A fault and where it is. */
export interface InputFault {
  readonly kind: FaultKind;
  /** The field's dotted path in the input: `image_urls.2`. Absent if it is unknown or cannot be reported. */
  readonly field?: string;
}

/** Dotted names and list indexes, as the schemas of models have them. */
export const FIELD_PATTERN = '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$';
export const MAX_FIELD_LENGTH = 100;
const FIELD = new RegExp(FIELD_PATTERN);

/** @param field its path, dotted; left out of the fault if it is no such path, or longer than 100 characters. */
export function inputFault(kind: FaultKind, field: string | undefined): InputFault {
  return field !== undefined && field.length <= MAX_FIELD_LENGTH && FIELD.test(field) ? { kind, field } : { kind };
}

/** Whether a string is a kind of fault. */
export function isFaultKind(text: unknown): text is FaultKind {
  return typeof text === 'string' && Object.hasOwn(FAULTS, text);
}

/** Why a task with such a fault fails. */
export function reasonOfFault(kind: FaultKind): FaultDescription['reason'] {
  return FAULTS[kind].reason;
}

/** What a caller reads: `image_urls.2: the file could not be decoded`. */
export function faultMessage({ kind, field }: InputFault): string {
  const { message } = FAULTS[kind];
  return field === undefined ? message : `${field}: ${message}`;
}
