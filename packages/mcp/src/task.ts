/** A task as the API returns it, as far as the tools read it. */

export interface TaskOutput {
  readonly id: string;
  readonly url: string;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly width?: number;
  readonly height?: number;
}

export interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly progress?: number;
  readonly output?: readonly TaskOutput[];
  readonly error?: { readonly code: string; readonly message: string };
}

export interface TaskList {
  readonly tasks: readonly Task[];
  readonly total: number;
  readonly totalIsCapped?: boolean;
  readonly nextCursor?: string;
}

export function isOver({ status }: Task): boolean {
  return status === 'success' || status === 'fail';
}

/** `handling 40%`. */
export function statusOf({ status, progress }: Task): string {
  return progress === undefined ? status : `${status} ${Math.floor(progress * 100)}%`;
}
