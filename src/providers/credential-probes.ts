/**
 * Whether providers accept the credentials that are configured: checked with a free request that the file of a provider
 * names, when a credential is set, when an api starts, and daily. A credential that its provider rejects takes what
 * needs it off sale (src/catalogue/offer.ts). An answer that says neither, or none, changes nothing: a network error is
 * no verdict.
 *
 * The api processes share the results in PostgreSQL, by a fingerprint of the credential and of where it was sent, so that
 * one of them checks for all.
 */
import { createHmac } from 'node:crypto';
import { credentialNamesOf } from '../catalogue/offer.ts';
import type { OfferedProvider } from '../catalogue/offer.ts';
import type { ProviderFile } from '../catalogue/provider-file.ts';
import type { Database, Statement } from '../database/database.ts';
import type { Logger } from '../telemetry/log.ts';
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts';
import { createAccess } from './http/auth/access.ts';
import { findBinding } from './http/binding.ts';
import { ExchangeLost, createHttpExchange } from './http-exchange.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { UpstreamBinding } from './provider.ts';
import { BEARER_ACCESS, CredentialError, targetOf } from './upstream-target.ts';

/** What a provider says about a credential. `unknown`: it could not be checked yet, or the answer said neither. */
type CredentialState = 'valid' | 'rejected' | 'unknown';

/** What is known of the credential of a provider. */
export interface CheckedCredential {
  readonly provider: string;
  /** The name of the credential. */
  readonly credential: string;
  /** `not_checkable`: its file names no request that shows it. */
  readonly state: CredentialState | 'not_checkable';
  readonly checkedAt: Date | undefined;
}

export interface CredentialProbes {
  /** Whether the provider rejects the credential that is configured now. */
  isRejected(provider: string, credential: string): boolean;
  /** The credentials of a provider that are configured, that of its own name first. */
  of(offered: Pick<OfferedProvider, 'provider' | 'models'>): readonly CheckedCredential[];
  /** All of the providers that are followed. */
  all(): readonly CheckedCredential[];
  /** Calls the listener after a verdict has changed. @returns ends that. */
  onChange(listener: () => void): () => void;
  /** Reads the results of all processes. If the database is unavailable, those that are known stay. Never fails. */
  refresh(): Promise<void>;
  /** Checks the providers now, in the background, and then whenever it is due. */
  follow(providers: () => readonly OfferedProvider[]): void;
  /** Checks one provider at once. Never fails. */
  probe(offered: Pick<OfferedProvider, 'provider' | 'models'>): Promise<void>;
  close(): Promise<void>;
}

/** How often results of other processes are read, and what is due is looked for. */
const INTERVAL_MS = 5_000;
/** How long a request may take. */
const TIMEOUT_MS = 10_000;
/** More of an answer is not read: only its status counts. */
const MAX_BYTES = 4_000_000;
/** A process checks the same credential again after this long at the earliest, in milliseconds. */
const AGAIN_MS = { valid: 86_400_000, rejected: 3_600_000, unknown: 600_000, error: 60_000 } as const;
/** How long the others leave it to the process that checks, in seconds. */
const CLAIM_SECONDS = 60;
const REJECTS: readonly number[] = [401];

interface Result {
  readonly state: CredentialState;
  readonly checkedAt: Date | null;
}

const selectResults: Statement = {
  name: 'select_credential_probes',
  text: `SELECT encode(fingerprint, 'hex') AS fingerprint, state, checked_at AS "checkedAt" FROM credential_probes`,
};

/**
 * $4: `now`, whatever is known; `start`, unless another process that has just started has the result; `due`, once the result
 * is old.
 */
const claim: Statement = {
  name: 'claim_credential_probe',
  text: `INSERT INTO credential_probes AS p (provider, credential, fingerprint, state, claimed_until)
         VALUES ($1, $2, decode($3, 'hex'), 'unknown', now() + interval '${CLAIM_SECONDS} seconds')
         ON CONFLICT (provider, credential) DO UPDATE
            SET state = CASE WHEN p.fingerprint = excluded.fingerprint THEN p.state ELSE 'unknown' END,
                checked_at = CASE WHEN p.fingerprint = excluded.fingerprint THEN p.checked_at END,
                fingerprint = excluded.fingerprint, claimed_until = excluded.claimed_until
          WHERE p.fingerprint <> excluded.fingerprint OR $4::text = 'now'
             OR ((p.claimed_until > now()) IS NOT TRUE
                 AND (p.checked_at IS NULL
                      OR ($4 = 'start' AND p.checked_at < now() - interval '${CLAIM_SECONDS} seconds')
                      OR p.checked_at < now() - CASE p.state WHEN 'valid' THEN interval '${AGAIN_MS.valid} milliseconds'
                                                             ELSE interval '${AGAIN_MS.rejected} milliseconds' END))
      RETURNING 1`,
};

const record: Statement = {
  name: 'record_credential_probe',
  text: `UPDATE credential_probes SET state = $4, checked_at = now(), claimed_until = NULL
          WHERE provider = $1 AND credential = $2 AND fingerprint = decode($3, 'hex')`,
};

export function createCredentialProbes({
  database,
  settings,
  encryptionKey,
  logger,
  exchange = createHttpExchange(),
  intervalMs = INTERVAL_MS,
  now = () => performance.now(),
}: {
  readonly database: Database;
  readonly settings: Pick<UpstreamSettings, 'get' | 'baseUrlOf' | 'onChange'>;
  /** Makes the fingerprints, so that guesses cannot be tested with what is stored. */
  readonly encryptionKey: string;
  readonly logger: Logger;
  readonly exchange?: HttpExchange;
  readonly intervalMs?: number;
  /** Milliseconds; only differences count. */
  readonly now?: () => number;
}): CredentialProbes {
  const access = createAccess();
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  /** By fingerprint. */
  let results: ReadonlyMap<string, Result> = new Map();
  /** When this process checks again, by fingerprint. */
  const dueAt = new Map<string, number>();
  let followed: () => readonly OfferedProvider[] = () => [];

  /** @returns undefined: there is no such credential. */
  const fingerprintOf = (provider: string, credential: string): string | undefined => {
    const secret = settings.get(credential);
    if (secret === undefined) return undefined;
    const what = JSON.stringify([provider, credential, secret, settings.baseUrlOf(provider) ?? null]);
    return createHmac('sha256', encryptionKey).update(`credential probe ${what}`).digest('hex');
  };

  const adopt = (next: ReadonlyMap<string, Result>): void => {
    const rejected = (of: ReadonlyMap<string, Result>): string =>
      [...of]
        .flatMap(([fingerprint, { state }]) => (state === 'rejected' ? fingerprint : []))
        .toSorted()
        .join();
    const hasChanged = rejected(results) !== rejected(next);
    results = next;
    if (hasChanged) for (const listener of listeners) listener();
  };

  const refresh = async (): Promise<void> => {
    try {
      const rows = await database.query<Result & { readonly fingerprint: string }>(selectResults);
      adopt(new Map(rows.map(({ fingerprint, state, checkedAt }) => [fingerprint, { state, checkedAt }])));
    } catch (err) {
      if (!stopping.signal.aborted) logger.warn({ err }, 'reading what providers say about credentials failed');
    }
  };

  /** @returns undefined: neither. */
  const ask = async (provider: ProviderFile, credential: string): Promise<CredentialState | undefined> => {
    const { probe, upstream } = provider;
    if (probe === undefined) return undefined;
    const baseUrl = settings.baseUrlOf(provider.name) ?? upstream['baseUrl'];
    const binding = { model: '', protocol: 'http', ...upstream, baseUrl, secret: credential } as UpstreamBinding;
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const address = probe.path.startsWith('/') ? probe.path : new URL(probe.path);
    const request = { method: 'GET', body: undefined, signal } as const;
    try {
      const uses = binding.protocol === 'http' ? access : BEARER_ACCESS;
      const { url, headers, isAuthorized } = await targetOf(binding, address, request, settings, uses);
      if (!isAuthorized) return undefined;
      const { status } = await exchange({
        method: 'GET',
        url,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', ...fixedHeaders(binding), ...headers },
        signal,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        onFreshConnection: true,
      });
      if (status >= 200 && status < 300) return 'valid';
      if ((probe.rejects ?? REJECTS).includes(status)) return 'rejected';
      logger.warn(
        { provider: provider.name, credentialName: credential, status },
        'a provider did not say whether it accepts a credential',
      );
    } catch (error) {
      // It has another form than the provider's, which no request would change.
      if (error instanceof CredentialError && error.isPermanent) return 'rejected';
      if (!(error instanceof ExchangeLost || error instanceof CredentialError || signal.aborted)) throw error;
    }
    return undefined;
  };

  const check = async (provider: ProviderFile, credential: string, isForced: boolean): Promise<void> => {
    const fingerprint = fingerprintOf(provider.name, credential);
    if (fingerprint === undefined || provider.probe === undefined) return;
    const isNew = !dueAt.has(fingerprint);
    if (!isForced && now() < (dueAt.get(fingerprint) ?? -Infinity)) return;
    const known = results.get(fingerprint)?.state ?? 'unknown';
    dueAt.set(fingerprint, now() + AGAIN_MS[known]);
    const values = [provider.name, credential, fingerprint];
    const mode = isForced ? 'now' : isNew ? 'start' : 'due';
    if ((await database.query(claim, [...values, mode])).length === 0) return;
    const state = await ask(provider, credential);
    if (state === undefined) {
      dueAt.set(fingerprint, now() + AGAIN_MS.unknown);
      return;
    }
    dueAt.set(fingerprint, now() + AGAIN_MS[state]);
    await database.query(record, [...values, state]);
    const fields = { provider: provider.name, credentialName: credential };
    if (state === 'rejected' && known !== 'rejected') {
      logger.error(fields, 'a provider rejects the credential: its models are not offered until another one is set');
    }
    if (state === 'valid' && known === 'rejected') logger.info(fields, 'a provider accepts the credential again');
    await refresh();
  };

  const checkAll = async (offered: Pick<OfferedProvider, 'provider' | 'models'>, isForced: boolean): Promise<void> => {
    for (const credential of credentialNamesOf(offered)) {
      if (stopping.signal.aborted) return;
      try {
        await check(offered.provider, credential, isForced);
      } catch (err) {
        if (stopping.signal.aborted) return;
        dueAt.set(fingerprintOf(offered.provider.name, credential) ?? '', now() + AGAIN_MS.error);
        logger.warn({ err, provider: offered.provider.name }, 'checking the credential of a provider failed');
      }
    }
  };

  let working: Promise<void> | undefined;
  let isHinted = false;
  const work = (): void => {
    isHinted = true;
    working ??= (async () => {
      while (isHinted && !stopping.signal.aborted) {
        isHinted = false;
        await refresh();
        for (const offered of followed()) await checkAll(offered, false);
      }
    })().finally(() => (working = undefined));
  };
  let clock: NodeJS.Timeout | undefined;
  let stopFollowing = (): void => {};

  const probes: CredentialProbes = {
    isRejected(provider, credential) {
      const fingerprint = fingerprintOf(provider, credential);
      return fingerprint !== undefined && results.get(fingerprint)?.state === 'rejected';
    },
    of: (offered) =>
      credentialNamesOf(offered).flatMap((credential): readonly CheckedCredential[] => {
        const { probe, name: provider } = offered.provider;
        const fingerprint = fingerprintOf(provider, credential);
        if (fingerprint === undefined) return [];
        if (probe === undefined) return [{ provider, credential, state: 'not_checkable', checkedAt: undefined }];
        const { state = 'unknown', checkedAt = null } = results.get(fingerprint) ?? {};
        return [{ provider, credential, state, checkedAt: checkedAt ?? undefined }];
      }),
    all: () => followed().flatMap((offered) => probes.of(offered)),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh,
    follow(providers) {
      followed = providers;
      clock = setInterval(work, intervalMs);
      clock.unref();
      stopFollowing = settings.onChange(work);
      work();
    },
    probe: (offered) => checkAll(offered, true),
    async close() {
      stopping.abort();
      clearInterval(clock);
      stopFollowing();
      await working;
    },
  };
  return probes;
}

/** Headers that the requests of a provider always have, such as the version of its API. */
function fixedHeaders(upstream: UpstreamBinding): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(findBinding(upstream)?.headers ?? {}).filter(isText));
}

function isText(entry: readonly [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string';
}
