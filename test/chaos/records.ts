/**
 * The logs of a campaign's clients: each attempt with its outcome, also if that is unknown. The invariants rely on
 * these lines, the provider's and the receivers', and nothing that the program reports about itself except its public
 * responses.
 */

/** How an attempt ended for its client. `unknown`: no complete response came. */
export type AttemptOutcome =
  | { readonly kind: 'answer'; readonly status: number; readonly errorCode: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** A task's detail, as far as the invariants need it. */
export interface TaskAnswer {
  readonly taskId: string;
  readonly model: string;
  readonly status: string;
  readonly created: number;
  readonly completed: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly output?: readonly OutputAnswer[];
  readonly outputGone?: readonly { readonly id: string; readonly type: string; readonly reason?: string }[];
  readonly error?: { readonly code: string; readonly reason?: string; readonly message: string };
  readonly billing: { readonly held: string; readonly captured: string; readonly released: string };
  readonly callback?: { readonly state: string; readonly attempts: number };
}

export interface OutputAnswer {
  readonly id: string;
  readonly url: string;
  readonly type: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Unix seconds; 0: forever. */
  readonly retainUntil?: number;
}

/** A response in the background, as far as the invariants need it. */
export interface ResponseAnswer {
  readonly id: string;
  readonly status: string;
  readonly output: readonly unknown[];
  readonly error: { readonly code: string } | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number } | null;
}

/** A batch, as far as the invariants need it. */
export interface BatchAnswer {
  readonly id: string;
  readonly endpoint: BatchEndpoint;
  readonly status: string;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly output_file_id?: string;
  readonly error_file_id?: string;
  /** Why its file was rejected as a whole. */
  readonly errors?: { readonly data: readonly unknown[] };
  readonly waiting_for?: string;
}

/** What a client intends, the same in each of its attempts. */
export interface Wish {
  readonly account: string;
  readonly key: string;
  /** Part of the prompt, and so of the provider's ledger. */
  readonly marker: string;
  readonly model: string;
  readonly prompt: string;
  readonly callbackPath: string | undefined;
}

export type ClientLine = {
  /** When it began and ended, in Unix milliseconds. */
  readonly begun: number;
  readonly ended: number;
} & (
  | ({
      readonly kind: 'create';
      readonly attempt: number;
      readonly api: number;
      readonly outcome: AttemptOutcome;
      readonly taskId?: string;
      readonly isReplay?: boolean;
    } & Wish)
  | {
      readonly kind: 'read';
      readonly account: string;
      readonly taskId: string;
      readonly outcome: AttemptOutcome;
      readonly task?: TaskAnswer;
    }
  | {
      /** `forge`: a provider callback that the client made up. */
      readonly kind: 'cancel' | 'promote' | 'delete' | 'forge';
      readonly account: string;
      readonly taskId: string;
      readonly outcome: AttemptOutcome;
    }
  | {
      readonly kind: 'download';
      readonly taskId: string;
      readonly outputId: string;
      readonly outcome: AttemptOutcome;
      readonly bytes?: number;
      readonly sha256?: string;
    }
  | {
      /** `batch run` and `background run`: from the request to the end of the work. */
      readonly kind: 'list' | 'upload' | 'batch run' | 'background run';
      readonly account: string;
      readonly outcome: AttemptOutcome;
    }
  | {
      /** A response in the background is created. */
      readonly kind: 'background';
      readonly account: string;
      readonly key: string;
      readonly marker: string;
      readonly prompt: string;
      readonly outcome: AttemptOutcome;
      readonly responseId?: string;
    }
  | {
      readonly kind: 'response';
      readonly account: string;
      readonly responseId: string;
      readonly outcome: AttemptOutcome;
      readonly response?: ResponseAnswer;
    }
  | {
      readonly kind: 'batch';
      readonly account: string;
      readonly key: string;
      readonly endpoint: BatchEndpoint;
      readonly fileId: string;
      /** Of its lines: also their `custom_id`. */
      readonly markers: readonly string[];
      readonly outcome: AttemptOutcome;
      readonly batchId?: string;
    }
  | {
      readonly kind: 'batch-read';
      readonly account: string;
      readonly batchId: string;
      readonly outcome: AttemptOutcome;
      readonly status?: string;
    }
  | {
      readonly kind: 'response-cancel' | 'batch-cancel';
      readonly account: string;
      /** Of the response or the batch. */
      readonly id: string;
      readonly outcome: AttemptOutcome;
    }
  | {
      readonly kind: 'balance';
      readonly account: string;
      readonly outcome: AttemptOutcome;
      readonly available?: string;
    }
  | {
      readonly kind: 'text';
      readonly account: string;
      readonly marker: string;
      readonly outcome: AttemptOutcome;
      readonly isStream: boolean;
      /** For a response that ended in order: whether it was complete, or reported an error, or ended silently. */
      readonly end?: 'whole' | 'error' | 'silent';
      readonly responseId?: string;
      readonly usage?: { readonly input: number; readonly output: number };
    }
);

export function isAccepted(line: ClientLine): line is ClientLine & { kind: 'create'; taskId: string } {
  return line.kind === 'create' && line.taskId !== undefined;
}

/** What the lines of a campaign's batches are requests of: tasks, and calls of the text model. */
export type BatchEndpoint = '/v1/tasks' | '/v1/chat/completions';

const BATCH_ENDS = ['completed', 'failed', 'expired', 'cancelled'];
const RESPONSE_ENDS = ['completed', 'incomplete', 'failed', 'cancelled'];

export function hasBatchEnded(status: string): boolean {
  return BATCH_ENDS.includes(status);
}

export function hasResponseEnded(status: string): boolean {
  return RESPONSE_ENDS.includes(status);
}

export function isTerminal(status: string): boolean {
  return status === 'success' || status === 'fail';
}
