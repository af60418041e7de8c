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
      readonly kind: 'list' | 'upload';
      readonly account: string;
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

export function isTerminal(status: string): boolean {
  return status === 'success' || status === 'fail';
}
