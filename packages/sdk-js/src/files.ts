/** Files: inputs of tasks, and those in the form of OpenAI's API, such as the lines of a batch (contract §7.5). */
import type { FileObject, UploadedFile } from './generated/types.ts';
import type { CallOptions } from './options.ts';
import type { Requester } from './requests.ts';

export interface Files {
  /** Uploads an image, a video or a recording of at most 100 MB. It is kept for a day. */
  upload(data: FileData, options?: CallOptions): Promise<UploadedFile>;
  /** Reads a file. Its URL is fresh each time. */
  get(id: string, options?: CallOptions): Promise<UploadedFile>;
  /** Deletes a file, in either form; its URLs stop working at once. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Creates a file in the form of OpenAI's API. It is kept for 30 days by default. */
  create(data: FileData, options: CreateFileOptions): Promise<FileObject>;
  /** Reads a file in the form of OpenAI's API. */
  retrieve(id: string, options?: CallOptions): Promise<FileObject>;
  /** Yields all files in the form of OpenAI's API, newest first, page by page. */
  list(query?: FileListQuery, options?: CallOptions): AsyncGenerator<FileObject, void>;
  /** Downloads a file. @returns the response, whose body has not been read. */
  content(id: string, options?: CallOptions): Promise<Response>;
}

export type FileData = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;

export interface CreateFileOptions extends CallOptions {
  /** `batch`: lines of JSON, at most 200 MB; `vision`: an image; `user_data`: any file. The last two: at most 100 MB. */
  readonly purpose: 'batch' | 'vision' | 'user_data';
  /** Default: that of a `File`, otherwise `lines.jsonl` for a batch and `file` for others. */
  readonly filename?: string | undefined;
  /** How long the file is kept: 3,600 to 2,592,000. */
  readonly expiresAfterSeconds?: number | undefined;
}

export interface FileListQuery {
  readonly purpose?: FileObject['purpose'] | undefined;
}

/** As long as the service allows an upload to take (contract §7.5). */
const UPLOAD_TIMEOUT_MS = 3_600_000;

/** @internal */
export function createFiles(requester: Requester): Files {
  return {
    upload: (data, options = {}) => requester.call('POST', '/files', { body: blobOf(data) }, patient(options)),
    get: (id, options = {}) => requester.call('GET', pathOf(id), {}, options),
    async delete(id, options = {}) {
      await requester.call('DELETE', pathOf(id), {}, options);
    },
    create(data, { purpose, filename, expiresAfterSeconds, ...options }) {
      const form = new FormData();
      form.append('purpose', purpose);
      if (expiresAfterSeconds !== undefined) {
        form.append('expires_after[anchor]', 'created_at');
        form.append('expires_after[seconds]', String(expiresAfterSeconds));
      }
      const own = 'name' in data && typeof data.name === 'string' ? data.name : undefined;
      form.append('file', blobOf(data), filename ?? own ?? (purpose === 'batch' ? 'lines.jsonl' : 'file'));
      return requester.call('POST', '/files', { body: form }, patient(options));
    },
    retrieve: (id, options = {}) => requester.call('GET', pathOf(id), {}, options),
    list: (query = {}, options = {}) => requester.listed<FileObject>('/files', { ...query }, options),
    content: (id, options = {}) => requester.send('GET', `${pathOf(id)}/content`, {}, options),
  };
}

function blobOf(data: FileData): Blob {
  return data instanceof Blob ? data : new Blob([data]);
}

function patient(options: CallOptions): CallOptions {
  return { ...options, timeoutMs: options.timeoutMs ?? UPLOAD_TIMEOUT_MS };
}

function pathOf(id: string): string {
  return `/files/${encodeURIComponent(id)}`;
}
