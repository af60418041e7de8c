/** The settings of the Temporal server. */
import { readFileSync } from 'node:fs';
import type { EnvironmentReader } from './environment.ts';

export interface TemporalConfig {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey: string | undefined;
  /** Absent: no TLS. All are PEM. */
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
}

/** @returns the Web UI's URL without a trailing slash; undefined: not set. */
export function readTemporalUiUrl(read: EnvironmentReader): string | undefined {
  const text = read.text('TEMPORAL_UI_URL');
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    read.report(`TEMPORAL_UI_URL: "${text}" is not an http(s) URL`);
  return text.replace(/\/+$/, '');
}

export function readTemporal(read: EnvironmentReader): TemporalConfig {
  const files = {
    ca: read.text('TEMPORAL_TLS_CA_FILE'),
    certificate: read.text('TEMPORAL_TLS_CERT_FILE'),
    key: read.text('TEMPORAL_TLS_KEY_FILE'),
  };
  if ((files.certificate === '') !== (files.key === '')) {
    read.report('TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE: set both or neither');
  }
  const apiKey = read.text('TEMPORAL_API_KEY') || undefined;
  const usesTls = read.boolean('TEMPORAL_TLS') || apiKey !== undefined || files.ca !== '' || files.certificate !== '';
  const pem = (name: string, file: string): Buffer | undefined => {
    if (file === '') return undefined;
    try {
      return readFileSync(file);
    } catch {
      read.report(`${name}: the file cannot be read`);
      return undefined;
    }
  };
  const ca = pem('TEMPORAL_TLS_CA_FILE', files.ca);
  const certificate = pem('TEMPORAL_TLS_CERT_FILE', files.certificate);
  const key = pem('TEMPORAL_TLS_KEY_FILE', files.key);
  return {
    address: read.text('TEMPORAL_ADDRESS'),
    namespace: read.text('TEMPORAL_NAMESPACE'),
    apiKey,
    tls: usesTls
      ? {
          ...(ca === undefined ? {} : { ca }),
          ...(certificate === undefined ? {} : { certificate }),
          ...(key === undefined ? {} : { key }),
        }
      : undefined,
  };
}
