/**
 * The API's answers as far as the command line reads them. Their meaning is documented in the service's own reference
 * (`/docs`); members that are not declared here are kept, and shown by `--json`.
 */

export interface TaskOutput {
  readonly id: string;
  readonly url: string;
  readonly type: string;
  readonly expireAt: number;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  readonly storage: string;
  readonly retainUntil: number;
}

export interface Task {
  readonly taskId: string;
  readonly model: string;
  readonly route?: string;
  readonly status: string;
  readonly created: number;
  readonly started: number;
  readonly completed: number;
  readonly progress?: number;
  readonly storage: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly input?: Readonly<Record<string, unknown>> | null;
  readonly output?: readonly TaskOutput[];
  readonly outputGone?: readonly { readonly id: string; readonly type: string; readonly reason: string }[];
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly reason?: string;
    readonly field?: string;
    readonly retryable: boolean;
  };
  readonly billing: { readonly held: string; readonly captured: string; readonly released: string };
}

export interface TaskEvent {
  readonly seq: number;
  /** Unix seconds. */
  readonly at: number;
  readonly type: string;
  readonly detail: Readonly<Record<string, string | number | boolean>>;
}

export interface TaskList {
  readonly total: number;
  readonly totalIsCapped?: boolean;
  readonly nextCursor?: string;
  readonly tasks: readonly Task[];
}

export interface StoredOutput {
  readonly id: string;
  readonly taskId: string;
  readonly model: string;
  readonly type: string;
  readonly mimeType: string;
  readonly size: number;
  readonly url: string;
  readonly storage_tier: string;
  readonly status: string;
  readonly created: number;
  readonly retainUntil: number;
}

export interface StorageList {
  readonly total: number;
  readonly totalIsCapped?: boolean;
  readonly items: readonly StoredOutput[];
}

/** The result for each id that was to be promoted or deleted. */
export interface StorageDecision {
  readonly accepted: readonly string[];
  readonly rejected: readonly { readonly id: string; readonly reason: string }[];
}

export interface Estimate {
  readonly estimatedCost: string | null;
  readonly maxCost: string | null;
  readonly currency: string;
  readonly model: string | null;
  readonly route: string | null;
  readonly balanceSufficient: boolean | null;
  readonly errors: readonly string[];
}

export interface Account {
  readonly accountId: string;
  readonly name: string;
  readonly status: string;
  readonly balance: string;
  readonly held: string;
  readonly available: string;
  readonly currency: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly usage: Readonly<Record<string, number>>;
  readonly callbackProblems?: readonly { readonly origin: string; readonly failingSince: number }[];
}

export interface Usage {
  readonly from: string;
  readonly currency: string;
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  readonly total: { readonly captured: string; readonly count: number };
}

/** A JSON Schema, or a part of one; keywords that are not known here are ignored. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Model {
  readonly id: string;
  readonly modality: string;
  readonly description: string;
  readonly routes: readonly string[];
  readonly pricing: Readonly<Record<string, unknown>>;
  readonly deprecation: number | null;
  readonly shutdown_date: number | null;
  readonly replacement: string | null;
}

export interface ModelDetail extends Model {
  readonly input_schema: JsonSchema;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

/** Whether a task is over. */
export function isOver(task: Task): boolean {
  return task.status === 'success' || task.status === 'fail';
}
