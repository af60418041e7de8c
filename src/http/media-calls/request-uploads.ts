/** The uploads that a request brings along: without a task that uses them, they are deleted at its end. */
import type { HttpContext } from '../app/context.ts';
import { discardUpload } from '../bodies/store-upload.ts';

export interface RequestUploads {
  add(id: string): void;
  /** A task uses them. */
  keep(): void;
}

/** A retry, or a request that is rejected, has no use for its uploads. */
export async function withUploads<Result>(
  http: HttpContext,
  accountId: string,
  work: (uploads: RequestUploads) => Promise<Result>,
): Promise<Result> {
  const ids: string[] = [];
  let isUsed = false;
  const uploads: RequestUploads = {
    add(id) {
      ids.push(id);
    },
    keep() {
      isUsed = true;
    },
  };
  try {
    return await work(uploads);
  } finally {
    if (!isUsed) for (const id of ids) await discardUpload(http, accountId, id);
  }
}
