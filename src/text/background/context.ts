/** What the work on text calls in the background needs. Assembled in src/processes/background-worker.ts. */
import type { Authenticator, Caller } from '../../accounts/authenticate.ts';
import type { OpenResponses } from '../../accounts/open-responses.ts';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { DecodedTextCall, TextAnswers } from '../answer.ts';
import type { TextProblem } from '../encoder.ts';
import type { TextLedger } from '../money/text-ledger.ts';
import type { ResponseToSave } from '../responses/stored-responses.ts';
import type { BackgroundCall } from './call-record.ts';
import type { AttemptWatch } from './watch.ts';

/** A call as its endpoint decodes it, without a connection. */
export type DetachedTextCall = Omit<DecodedTextCall, 'problemOf' | 'money' | 'onAnswered'>;

/** A decoded call, and how its response is stored. */
export interface DecodedBackgroundCall {
  readonly call: DetachedTextCall;
  /** Absent: nothing is stored. @param response the whole object, or that of a failure. */
  readonly toSave?: ((response: Readonly<Record<string, unknown>>) => ResponseToSave) | undefined;
}

export interface BackgroundContext {
  readonly database: Database;
  readonly logger: Logger;
  readonly ledger: Pick<TextLedger, 'hold' | 'settle'>;
  readonly textAnswers: Pick<TextAnswers, 'answer'>;
  readonly authenticator: Pick<Authenticator, 'callerOfKey'>;
  readonly openResponses: Pick<OpenResponses, 'register'>;
  readonly watch: AttemptWatch;
  /**
   * The body of the call's request, as it was sent.
   *
   * @throws {DarkroomError} it is a line of a batch, and no request.
   */
  readBody(call: BackgroundCall): Promise<{ readonly body: Readonly<Record<string, unknown>>; readonly bytes: number }>;
  /**
   * Decodes and checks it like a request of its endpoint.
   *
   * @param until aborted when the attempt has ended.
   * @throws {DarkroomError} what the endpoint would answer. @throws {ShareExhaustedError} there is no memory for it.
   */
  decode(
    call: BackgroundCall,
    request: {
      readonly caller: Caller;
      readonly body: Readonly<Record<string, unknown>>;
      /** The size of the request. */
      readonly bytes: number;
      readonly until: AbortSignal;
    },
  ): Promise<DecodedBackgroundCall>;
  /** An error as the endpoints report it. */
  problemOf(error: unknown): TextProblem;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
}
