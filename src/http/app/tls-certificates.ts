/**
 * The certificate of a listener: read and validated before it is served, and again whenever its files change, so that
 * a renewal needs no restart. Existing connections continue with their certificate.
 *
 * Certificate and key change one after the other, and a file may be read half written: a pair that does not match is
 * rejected, and the previous one stays in use.
 */
import { X509Certificate, createHash, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import type { SecureContextOptions } from 'node:tls';
import { watchDirectories } from '../../catalogue/watch-directories.ts';
import type { HttpConfig } from '../../config/listeners.ts';
import type { Logger } from '../../telemetry/log.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';

/** The oldest accepted version of TLS; browsers reject older ones too (RFC 8996). */
const OLDEST_VERSION = 'TLSv1.2';
/**
 * The delay between a change and the check, in milliseconds, so that a program that writes both files has usually
 * finished.
 */
const SETTLE_MS = 200;
/** The polling interval in milliseconds, for file systems that report no changes. */
const POLL_MS = 10_000;

type TlsFiles = NonNullable<HttpConfig['tls']>;

/** The files are not a certificate with its key; the message names the file and the reason, for the operator. */
export class CertificateError extends DarkroomError {
  override readonly name = 'CertificateError';
  override readonly kind = 'configuration_invalid';
}

/** A certificate that can be served. */
export interface Certificate {
  /** The options for the server. */
  readonly context: SecureContextOptions;
  /** The same for the same bytes. */
  readonly fingerprint: string;
  /** The end of its validity, as the certificate states it. */
  readonly validTo: string;
}

export interface CertificateWatch {
  /** Checks the files now; resolves when that has been done. */
  reload(): Promise<void>;
  close(): void;
}

/** @throws {CertificateError} */
export async function readCertificate(files: TlsFiles): Promise<Certificate> {
  return parseCertificate(files, await readFiles(files));
}

/**
 * Checks the files whenever they may have changed.
 *
 * @param served the certificate in use.
 * @param serve puts another pair into use.
 */
export function watchCertificate(
  files: TlsFiles,
  served: Certificate,
  serve: (certificate: Certificate) => void,
  logger: Logger,
): CertificateWatch {
  let current = served.fingerprint;
  /** What was rejected, so that it is logged once and not at every check. */
  let rejected: string | undefined;
  let settling: NodeJS.Timeout | undefined;
  let checking = Promise.resolve();

  const check = async (): Promise<void> => {
    let fingerprint = 'unreadable';
    try {
      const bytes = await readFiles(files);
      fingerprint = fingerprintOf(bytes);
      if (fingerprint === current) {
        rejected = undefined;
        return;
      }
      const certificate = parseCertificate(files, bytes);
      serve(certificate);
      current = fingerprint;
      rejected = undefined;
      logger.info({ validTo: certificate.validTo }, 'TLS certificate reloaded');
    } catch (error) {
      if (fingerprint === rejected) return;
      rejected = fingerprint;
      const problem = error instanceof CertificateError ? error.message : 'it cannot be used';
      logger.error({ problem }, 'changed TLS certificate rejected; the previous one stays in use');
    }
  };
  const reload = (): Promise<void> => {
    checking = checking.then(check);
    return checking;
  };
  const directories = [...new Set([files.certificateFile, files.keyFile].map((file) => path.dirname(file)))];
  const watch = watchDirectories(
    () => Promise.resolve(directories),
    () => {
      clearTimeout(settling);
      settling = setTimeout(() => void reload(), SETTLE_MS);
      settling.unref();
    },
    POLL_MS,
  );
  return {
    reload,
    close() {
      watch.close();
      clearTimeout(settling);
    },
  };
}

interface PairBytes {
  readonly cert: Buffer;
  readonly key: Buffer;
}

async function readFiles({ certificateFile, keyFile }: TlsFiles): Promise<PairBytes> {
  const read = (variable: string, file: string): Promise<Buffer> =>
    readFile(file).catch((error: NodeJS.ErrnoException) => {
      throw new CertificateError(`${variable}: ${file} cannot be read (${error.code})`, { cause: error });
    });
  // One after the other, so that the same one is named where neither can be read.
  const cert = await read('TLS_CERT_FILE', certificateFile);
  return { cert, key: await read('TLS_KEY_FILE', keyFile) };
}

function parseCertificate({ certificateFile, keyFile }: TlsFiles, { cert, key }: PairBytes): Certificate {
  const invalid = (problem: string) => (cause: unknown) => new CertificateError(problem, { cause });
  const leaf = attempt(
    () => {
      createSecureContext({ cert, minVersion: OLDEST_VERSION });
      return new X509Certificate(cert);
    },
    invalid(`TLS_CERT_FILE: ${certificateFile} is no certificate chain in PEM form`),
  );
  const privateKey = attempt(
    () => createPrivateKey(key),
    invalid(`TLS_KEY_FILE: ${keyFile} is no private key in PEM form without a passphrase`),
  );
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new CertificateError(`TLS_KEY_FILE: ${keyFile} is not the key of the certificate in ${certificateFile}`);
  }
  const context: SecureContextOptions = { cert, key, minVersion: OLDEST_VERSION };
  attempt(() => createSecureContext(context), invalid(`TLS_CERT_FILE: ${certificateFile} cannot be served`));
  return { context, fingerprint: fingerprintOf({ cert, key }), validTo: leaf.validTo };
}

function attempt<Value>(make: () => Value, failed: (cause: unknown) => CertificateError): Value {
  try {
    return make();
  } catch (error) {
    throw failed(error);
  }
}

function fingerprintOf({ cert, key }: PairBytes): string {
  return createHash('sha256').update(cert).update('\0').update(key).digest('hex');
}
