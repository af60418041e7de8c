/**
 * The URL of the service and the API key: from the environment, otherwise from the file that `configure` writes.
 * Never from the arguments, which every user of the machine can see.
 */
import { configFilePath, readConfigFile } from './config-file.ts';
import { UsageError } from './errors.ts';
import type { CliEnvironment } from './cli-environment.ts';

export const DEFAULT_BASE_URL = 'http://127.0.0.1:8787/v1';

export interface Settings {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * @throws {UsageError} something is missing or invalid; no message contains the key.
 */
export async function readSettings(cli: CliEnvironment): Promise<Settings> {
  const { environment, programName } = cli;
  const file = configFilePath(environment);
  const named = given(environment['DARKROOM_BASE_URL']);
  const key = given(environment['DARKROOM_API_KEY']);
  if (key !== undefined && named !== undefined) {
    return { baseUrl: checkBaseUrl(named, 'DARKROOM_BASE_URL'), apiKey: checkKey(key, 'DARKROOM_API_KEY') };
  }
  const config = (await readConfigFile(file)) ?? {};
  const configured = checkBaseUrl(config.baseUrl ?? DEFAULT_BASE_URL, file);
  const baseUrl = named === undefined ? configured : checkBaseUrl(named, 'DARKROOM_BASE_URL');
  if (key !== undefined) return { baseUrl, apiKey: checkKey(key, 'DARKROOM_API_KEY') };
  if (config.apiKey === undefined) {
    throw new UsageError(`there is no API key: set DARKROOM_API_KEY, or run: ${programName} configure`);
  }
  // A key is only for the service that created it.
  if (baseUrl !== configured) {
    throw new UsageError(
      `DARKROOM_BASE_URL is ${baseUrl}, and the API key in ${file} is for ${configured}: set DARKROOM_API_KEY as well`,
    );
  }
  return { baseUrl, apiKey: checkKey(config.apiKey, file) };
}

function given(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === '' ? undefined : trimmed;
}

/**
 * @param source is named in the error.
 * @returns the key without surrounding whitespace.
 */
export function checkKey(text: string, source: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7E]{1,500}$/.test(key)) throw new UsageError(`${source}: this is not an API key`);
  return key;
}

/** @returns the URL without trailing slashes. @throws {UsageError} it is invalid, or would send the key unencrypted. */
export function checkBaseUrl(text: string, source: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(`${source}: the base URL is not an http or https URL that ends in /v1`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`${source}: the base URL has more than scheme, host, port and path`);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new UsageError(`${source}: http sends the key in the clear, and is for this machine only; use https`);
  }
  if (!/\/v1\/*$/.test(url.pathname)) throw new UsageError(`${source}: the base URL does not end in /v1`);
  return url.href.replace(/\/+$/, '');
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
