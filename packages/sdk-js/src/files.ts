/** Files that are uploaded as inputs of tasks (contract §7.5). */
import type { UploadedFile } from './generated/types.ts';
import type { CallOptions } from './options.ts';
import type { Requester } from './requests.ts';

export interface Files {
  /** Uploads an image, a video or a recording of at most 100 MB. It is kept for a day. */
  upload(data: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, options?: CallOptions): Promise<UploadedFile>;
  /** Reads a file. Its URL is fresh each time. */
  get(id: string, options?: CallOptions): Promise<UploadedFile>;
  /** Deletes a file; its URLs stop working at once. */
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** As long as the service allows an upload to take (contract §7.5). */
const UPLOAD_TIMEOUT_MS = 3_600_000;

/** @internal */
export function createFiles(requester: Requester): Files {
  return {
    upload(data, options = {}) {
      const body = data instanceof Blob ? data : new Blob([data]);
      return requester.call(
        'POST',
        '/files',
        { body },
        { ...options, timeoutMs: options.timeoutMs ?? UPLOAD_TIMEOUT_MS },
      );
    },
    get: (id, options = {}) => requester.call('GET', pathOf(id), {}, options),
    async delete(id, options = {}) {
      await requester.call('DELETE', pathOf(id), {}, options);
    },
  };
}

function pathOf(id: string): string {
  return `/files/${encodeURIComponent(id)}`;
}
