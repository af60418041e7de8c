/**
 * A fault in one field of a task's input that only the work itself shows: the closed list of such faults, with the
 * reason for which each fails a task and the message that a caller reads. Pure: a fault passes through Temporal, and
 * so it holds a position that comes from a model's schema and a member of this list, never a value, an address or a
 * text.
 */

interface FaultDescription {
  /** The failure of a task with this fault. */
  readonly reason: 'input_unreachable' | 'input_invalid';
  readonly message: string;
}

/** An address that we may not reach is `unreachable` like any other: no client can map our network with it. */
const FAULTS = {
  unreachable: {
    reason: 'input_unreachable',
    message: 'the address could not be fetched; check that it is public and answers',
  },
  too_slow: { reason: 'input_unreachable', message: 'the address did not deliver its file in time' },
  not_served: {
    reason: 'input_unreachable',
    message: 'the address answered, but not with a file; check that the file is still there and needs no login',
  },
  untrusted: { reason: 'input_unreachable', message: 'the address has no certificate that can be trusted' },
  gone: { reason: 'input_unreachable', message: 'the file is not stored here any more' },
  too_large: { reason: 'input_invalid', message: 'the file has more bytes than this field takes' },
  too_large_together: {
    reason: 'input_invalid',
    message: 'the files of this input have more bytes together than the model takes; this is the largest',
  },
  wrong_type: { reason: 'input_invalid', message: 'the file is of no type that this field takes' },
  undecodable: { reason: 'input_invalid', message: 'the file could not be decoded' },
  too_many_pixels: { reason: 'input_invalid', message: 'the file has more pixels than can be processed' },
  too_long: { reason: 'input_invalid', message: 'the file is longer than can be processed' },
  missing: { reason: 'input_invalid', message: 'a file is needed here' },
  unlettered: { reason: 'input_invalid', message: 'no font here has the letters of a text in quotes' },
  unusable_text: { reason: 'input_invalid', message: 'nothing in the text can be spoken or sung' },
} as const satisfies Readonly<Record<string, FaultDescription>>;

/** What is wrong with a field. */
export type FaultKind = keyof typeof FAULTS;

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** A fault and where it is. */
export interface InputFault {
  readonly kind: FaultKind;
  /** The field's path in the input, dotted: `image_urls.2`. Absent: it is unknown, or cannot be reported. */
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

/** Whether a text is one of the list. */
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
