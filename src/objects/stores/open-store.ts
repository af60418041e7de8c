/**
 * From the configured URL to a store: `file:///directory` or `s3://bucket/prefix`. The one place that knows both kinds.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreConfig } from '../../config/connections.ts';
import { createDiskStore } from './disk-store.ts';
import type { ObjectStore } from './object-store.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

const EXPECTED = 'STORE_URL must be file:///absolute/directory or s3://bucket/prefix';
// S3's own rule for bucket names.
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Opens the configured store. Nothing is read or written yet: `check()` shows whether it works.
 *
 * @throws {StoreUrlError} the URL names no store; the message says what is wrong with it.
 */
export async function openStore(settings: StoreConfig): Promise<ObjectStore> {
  const url = URL.canParse(settings.storeUrl) ? new URL(settings.storeUrl) : undefined;
  if (!url) throw new StoreUrlError('it is not a URL');
  if (url.username !== '' || url.password !== '') {
    throw new StoreUrlError('it holds credentials; they belong in S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY');
  }
  if (url.search !== '' || url.hash !== '') throw new StoreUrlError('it has a query or a fragment');
  if (url.protocol === 'file:') return createDiskStore(directoryOf(url));
  if (url.protocol === 's3:') return openS3(url, settings.s3);
  throw new StoreUrlError(`it begins with ${url.protocol}`);
}

/** The configured URL names no store. */
export class StoreUrlError extends DarkroomError {
  override readonly name = 'StoreUrlError';
  override readonly kind = 'configuration_invalid';

  constructor(problem: string, options: { cause?: unknown } = {}) {
    super(`${EXPECTED}: ${problem}`, options);
  }
}

function directoryOf(url: URL): string {
  let directory: string;
  try {
    directory = fileURLToPath(url);
  } catch (error) {
    throw new StoreUrlError('it does not name a directory of this machine (three slashes after file:)', {
      cause: error,
    });
  }
  if (path.parse(directory).root === directory) throw new StoreUrlError('it names the root of the file system');
  return directory;
}

async function openS3(url: URL, s3: StoreConfig['s3']): Promise<ObjectStore> {
  if (!BUCKET.test(url.host)) throw new StoreUrlError('it names no valid bucket after s3://');
  // With the client of S3, some 600 modules.
  const { createS3Store } = await import('./s3-store.ts');
  try {
    const prefix = url.pathname.replace(/^\/|\/$/g, '');
    return createS3Store({ bucket: url.host, prefix, ...s3 });
  } catch (error) {
    if (error instanceof TypeError) throw new StoreUrlError(error.message, { cause: error });
    throw error;
  }
}
