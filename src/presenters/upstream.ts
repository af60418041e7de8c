/** Providers with their settings, and the upstreams of tasks and text calls, as operators see them. */
import type { AdminProviderSchema } from '@darkroom/api/admin/admin-providers';
import type { UpstreamCondition, UpstreamSchema, UpstreamsSchema } from '@darkroom/api/admin/admin-service';
import type { Static } from 'typebox';
import { verificationOf } from '../catalogue/live-verifications.ts';
import type { LiveVerification } from '../catalogue/live-verifications.ts';
import { credentialNameOf } from '../catalogue/offer.ts';
import type { OfferedProvider } from '../catalogue/offer.ts';
import type { CheckedCredential } from '../providers/credential-probes.ts';
import { MAX_UPSTREAMS } from '@darkroom/api/facts/limits';
import { idleUpstream } from '../upstreams/operations.ts';
import type { UpstreamReport } from '../upstreams/operations.ts';
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts';
import { secondsOf } from './unix-seconds.ts';

/**
 * @param isOffered whether clients can use a model.
 * @param verifications all that were recorded.
 * @param credentials those of the provider that are configured.
 */
export function presentProvider(
  { provider, missing, models }: OfferedProvider,
  settings: Pick<UpstreamSettings, 'credentialSourceOf' | 'baseUrlOf' | 'baseUrlSourceOf'>,
  isOffered: (model: string) => boolean,
  verifications: readonly LiveVerification[],
  credentials: readonly CheckedCredential[],
): Static<typeof AdminProviderSchema> {
  const { name, title, documentation = null, keys = null, checkedAt, credential = 'required', isSelfHosted } = provider;
  const own = provider.upstream['baseUrl'];
  const ownUrl = isSelfHosted === true || typeof own !== 'string' ? null : own;
  return {
    name,
    title,
    documentation,
    keys,
    checkedAt,
    missing: missing ?? null,
    credential: {
      need: credential,
      source: settings.credentialSourceOf(credentialNameOf(provider)) ?? null,
      checks: credentials.map((check) => ({
        name: check.credential,
        state: check.state,
        checkedAt: secondsOf(check.checkedAt),
      })),
    },
    baseUrl: { url: settings.baseUrlOf(name) ?? ownUrl, source: settings.baseUrlSourceOf(name) ?? null },
    models: models.map((model) => {
      const verification = verificationOf(model, name, verifications);
      return {
        name: model.name,
        modality: model.modality,
        isOffered: isOffered(model.name),
        verification:
          verification === undefined ? null : { at: secondsOf(verification.at), outcome: verification.outcome },
      };
    }),
  };
}

/** @param caps of the upstreams that models name. */
export function presentUpstreams(
  reports: readonly UpstreamReport[],
  caps: ReadonlyMap<string, readonly number[]>,
): Static<typeof UpstreamsSchema> {
  const reported = new Set(reports.map(({ upstream }) => upstream));
  const unheardOf = [...caps.keys()].filter((name) => !reported.has(name)).map(idleUpstream);
  const all = [...reports, ...unheardOf].toSorted((a, b) => (a.upstream < b.upstream ? -1 : 1));
  return { upstreams: all.slice(0, MAX_UPSTREAMS).map((report) => presentUpstream(report, caps)) };
}

/** @param caps of the upstreams that models name. */
export function presentUpstream(
  report: UpstreamReport,
  caps: ReadonlyMap<string, readonly number[]>,
): Static<typeof UpstreamSchema> {
  const { upstream, pausedUntil, pauseReason, drainedAt, openUntil, failingSince } = report;
  return {
    upstream,
    state: stateOf(report),
    pausedUntil: secondsOf(pausedUntil ?? undefined),
    ...(pauseReason === null ? {} : { pauseReason }),
    drainedSince: secondsOf(drainedAt ?? undefined),
    failingSince: secondsOf(failingSince ?? undefined),
    retryAt: secondsOf(openUntil ?? undefined),
    answeredAt: secondsOf(report.answeredAt ?? undefined),
    failures: report.failures,
    slotsTaken: report.slotsTaken,
    waiting: report.waiting,
    caps: [...(caps.get(upstream) ?? [])],
  };
}

function stateOf({ drainedAt, pausedUntil, pauseReason, ...is }: UpstreamReport): UpstreamCondition {
  if (drainedAt !== null) return 'drained';
  if (is.isFailing) return 'failing';
  if (pausedUntil !== null) return 'paused';
  if (pauseReason !== null) return 'failing';
  return is.isAnswering ? 'open' : 'unknown';
}
