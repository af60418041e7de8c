/**
 * What can go wrong with a call of a text model beyond the request itself. Before the first byte it becomes a status,
 * after it an event that ends the stream (contract §9: "a stream never just stops").
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import { DarkroomError } from '../domain/darkroom-error.ts';

/**
 * - `upstream_unavailable`: the upstream could not be reached or cannot work, or its circuit breaker is open;
 * - `upstream_rate_limited`: the upstream is rate limiting us;
 * - `upstream_timeout`: the upstream stopped sending, or the call exceeded its time limit;
 * - `upstream_invalid`: what the upstream sent does not conform to the protocol, or broke off in the middle;
 * - `upstream_refused`: the upstream rejects this request (4xx); its message stays here;
 * - `interrupted`: this process stops.
 */
export type TextFailureReason =
  | 'upstream_unavailable'
  | 'upstream_rate_limited'
  | 'upstream_timeout'
  | 'upstream_invalid'
  | 'upstream_refused'
  | 'interrupted';

/** The messages for callers. The upstream's own messages are only logged. */
const PUBLIC_MESSAGES: Readonly<Record<TextFailureReason, string>> = {
  upstream_unavailable: 'the model cannot be reached; retry later',
  upstream_rate_limited: 'the model is rate limited; retry later',
  upstream_timeout: 'the model did not answer in time; retry later',
  upstream_invalid: 'the model sent an invalid answer; retry later',
  interrupted: 'the service is being restarted; retry later',
  upstream_refused: 'the model rejects this request, and does not report which part of it',
};

/** The call ends without an answer, or in the middle of one. Its message is for the log, and never for the client. */
export class TextFailure extends DarkroomError {
  override readonly name = 'TextFailure';
  override readonly kind: 'invalid_request' | 'unavailable';
  override readonly code: TextFailureReason;
  readonly reason: TextFailureReason;
  /** When a retry may be worth it, if the upstream reports that; whole seconds. */
  override readonly retryAfterSeconds: number | undefined;

  constructor(
    reason: TextFailureReason,
    message: string,
    { retryAfterSeconds, cause }: { readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.kind = reason === 'upstream_refused' ? 'invalid_request' : 'unavailable';
    this.code = reason;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  override get publicMessage(): string {
    return PUBLIC_MESSAGES[this.reason];
  }

  /** Of an upstream it depends on what exactly failed (upstream/upstream-failure.ts). */
  override get waitsFor(): WaitReason | undefined {
    return undefined;
  }

  /** Whether the request itself may be why it failed: then it is repeated a few times at most. */
  get mayRecur(): boolean {
    return false;
  }
}

/** The request cannot be answered; the message names the parameter and is for the client (400). */
export class InvalidTextRequest extends DarkroomError {
  override readonly name = 'InvalidTextRequest';
  override readonly kind = 'invalid_request';
  /** A path with dots, as everywhere in this API: `tools.1.function.name`; OpenAI writes `tools[1].function.name`. */
  override readonly param: string | undefined;
  /** OpenAI's code for what is wrong, e.g. `unsupported_parameter`, `invalid_value`, `context_length_exceeded`. */
  override readonly code: string;

  constructor(param: string | undefined, message: string, code = 'invalid_value') {
    super(message);
    this.param = param;
    this.code = code;
  }
}
