/** What the work on text calls in the background needs. Assembled in src/processes/runners.ts. */
import type { Authenticator, Caller } from '../../accounts/authenticate.ts';
import type { OpenResponses } from '../../accounts/open-responses.ts';
import type { Database } from '../../database/database.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { DecodedTextCall, TextAnswers } from '../answer.ts';
import type { TextProblem } from '../encoder.ts';
import type { TextLedger } from '../money/text-ledger.ts';
import type { ResponseToSave } from '../responses/stored-responses.ts';
import type { BackgroundCall, AttemptWatch } from './call-record.ts';

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
  readonly accountDatabase: AccountDatabase;
  readonly logger: Logger;
  readonly ledger: Pick<TextLedger, 'hold' | 'settle' | 'processId'>;
  readonly textAnswers: Pick<TextAnswers, 'answer'>;
  readonly authenticator: Pick<Authenticator, 'callerOfKey'>;
  readonly openResponses: Pick<OpenResponses, 'register'>;
  readonly watch: AttemptWatch;
  /** The calls at which this process makes an attempt at this moment, by id. */
  readonly attempts: Set<string>;
  /**
   * Reads the request of a call, and decodes and checks it like a request of its endpoint.
   *
   * @param until aborted when the attempt has ended.
   * @throws {DarkroomError} what the endpoint would answer, or it is a line of a batch, and no request.
   * @throws {ShareExhaustedError} there is no memory for it.
   */
  decode(
    call: BackgroundCall,
    request: { readonly caller: Caller; readonly until: AbortSignal },
  ): Promise<DecodedBackgroundCall>;
  /** The request of a call that is not a line of a batch, as it was sent; null: the call has ended. */
  readRequest(call: BackgroundCall): Promise<Readonly<Record<string, unknown>> | null>;
  /** An error as the endpoints report it. */
  problemOf(error: unknown): TextProblem;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
}
