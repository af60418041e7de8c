/**
 * Files that requests in OpenAI's form name by their id, of either form, where they take media: the URL that stands
 * for such a file in the input of a task.
 */
import { UploadNotFoundError, isFileId, readUpload } from '../../objects/uploads.ts';
import { presentFile } from '../../presenters/file.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';

/**
 * @param field of the request, for the error: `image`, `images.0.file_id`.
 * @throws {RequestError} 400: the account has no such file. Whether it is of the right type is checked with the input.
 */
export async function urlOfFile(http: HttpContext, accountId: string, fileId: string, field: string): Promise<string> {
  if (!isFileId(fileId)) throw notThere(field);
  try {
    const upload = await readUpload(http.database, accountId, fileId, http.now());
    return presentFile(upload, http.urlSigner, http.config.urls.lifetimeSeconds).url;
  } catch (error) {
    throw error instanceof UploadNotFoundError ? notThere(field) : error;
  }
}

function notThere(field: string): RequestError {
  return invalidRequest(`invalid request: ${field}: there is no such file`, { param: field, code: 'invalid_value' });
}
