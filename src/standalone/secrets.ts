/**
 * The secrets that an installation generates for itself, once. They are stored in the data directory, readable by its
 * owner only.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { writeFileAtomically } from './data-directory.ts';
import { StandaloneError } from './standalone-error.ts';

export interface InstallationSecrets {
  /** `URL_SIGNING_KEY`: without it existing download URLs stop working. */
  readonly urlSigningKey: string;
  /** `ENCRYPTION_KEY`: without it stored webhook secrets cannot be read. */
  readonly encryptionKey: string;
  /** `URL_SIGNING_KEY_FALLBACKS` and `ENCRYPTION_KEY_FALLBACKS`: the previous keys, during a rotation. */
  readonly urlSigningKeyFallbacks?: readonly string[];
  readonly encryptionKeyFallbacks?: readonly string[];
  readonly postgresPassword: string;
  /** `ADMIN_TOKEN`: the credential that operators send to the admin listener. */
  readonly adminToken: string;
}

const SECRETS_FILE = 'secrets.json';
const SECRET_BYTES = 32;

/**
 * Reads the secrets of a data directory, generating them at the first start.
 *
 * @param hasDatabase whether a database already exists there: then missing secrets are not generated again, because
 *   nothing could be decrypted with the new ones.
 * @throws {StandaloneError} they are missing or damaged.
 */
export async function readOrCreateSecrets(directory: string, hasDatabase: boolean): Promise<InstallationSecrets> {
  const file = path.join(directory, SECRETS_FILE);
  const found = await readSecrets(directory);
  if (found !== undefined) return found;
  if (hasDatabase) {
    throw new StandaloneError(
      `${file} is missing, and the database in the same directory cannot be opened without it. Restore that file.`,
    );
  }
  const made: InstallationSecrets = {
    urlSigningKey: randomSecret(),
    encryptionKey: randomSecret(),
    postgresPassword: randomSecret(),
    adminToken: randomSecret(),
  };
  await writeSecrets(file, made);
  return made;
}

/** The secrets of a data directory; undefined if it has none yet. @throws {StandaloneError} they are damaged. */
export async function readSecrets(directory: string): Promise<InstallationSecrets | undefined> {
  const file = path.join(directory, SECRETS_FILE);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : parseSecrets(text, file);
}

/**
 * Replaces the signing and encryption keys with new ones, and keeps the old ones as fallbacks. The next start uses
 * them.
 *
 * @throws {StandaloneError} there are no secrets, or the fallbacks of the previous rotation still exist.
 */
export async function rotateSecrets(directory: string): Promise<void> {
  const found = await requireSecrets(directory);
  if (found.urlSigningKeyFallbacks !== undefined || found.encryptionKeyFallbacks !== undefined) {
    throw new StandaloneError('the keys of the rotation before are still in use: finish it with secrets forget');
  }
  await writeSecrets(path.join(directory, SECRETS_FILE), {
    ...found,
    urlSigningKey: randomSecret(),
    encryptionKey: randomSecret(),
    urlSigningKeyFallbacks: [found.urlSigningKey],
    encryptionKeyFallbacks: [found.encryptionKey],
  });
}

/** Removes the fallbacks. The next start no longer uses them. @throws {StandaloneError} there are no secrets. */
export async function deleteFallbacks(directory: string): Promise<void> {
  const { urlSigningKeyFallbacks: _urls, encryptionKeyFallbacks: _secrets, ...kept } = await requireSecrets(directory);
  await writeSecrets(path.join(directory, SECRETS_FILE), kept);
}

async function requireSecrets(directory: string): Promise<InstallationSecrets> {
  const found = await readSecrets(directory);
  if (found === undefined) throw new StandaloneError(`${directory} has no ${SECRETS_FILE}: npm start makes one there`);
  return found;
}

async function writeSecrets(file: string, secrets: InstallationSecrets): Promise<void> {
  await writeFileAtomically(file, `${JSON.stringify(secrets, null, 2)}\n`, 0o600);
}

function randomSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function parseSecrets(text: string, file: string): InstallationSecrets {
  try {
    const found = JSON.parse(text) as Partial<Record<keyof InstallationSecrets, unknown>>;
    const { urlSigningKey, encryptionKey, postgresPassword, adminToken } = found;
    const { urlSigningKeyFallbacks, encryptionKeyFallbacks } = found;
    if (
      typeof urlSigningKey === 'string' &&
      typeof encryptionKey === 'string' &&
      typeof postgresPassword === 'string' &&
      typeof adminToken === 'string' &&
      isListOfKeys(urlSigningKeyFallbacks) &&
      isListOfKeys(encryptionKeyFallbacks)
    ) {
      return {
        urlSigningKey,
        encryptionKey,
        ...(urlSigningKeyFallbacks === undefined ? {} : { urlSigningKeyFallbacks }),
        ...(encryptionKeyFallbacks === undefined ? {} : { encryptionKeyFallbacks }),
        postgresPassword,
        adminToken,
      };
    }
  } catch {
    // Reported below, with the file's name and without its content.
  }
  throw new StandaloneError(`${file} is damaged: restore it from a copy.`);
}

function isListOfKeys(value: unknown): value is readonly string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}
