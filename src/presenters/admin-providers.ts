/** The providers of an api process, as its operators see them. */
import type { Static } from 'typebox';
import type { AdminProviderSchema } from '@darkroom/api/admin/admin-providers';
import { credentialNameOf } from '../catalogue/offer.ts';
import { verificationOf } from '../catalogue/live-verifications.ts';
import type { LiveVerification } from '../catalogue/live-verifications.ts';
import type { OfferedProvider } from '../catalogue/offer.ts';
import type { CheckedCredential } from '../providers/credential-probes.ts';
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts';
import { secondsOf } from './unix-seconds.ts';

/** @param isOffered whether clients can use a model. @param verifications all that were recorded.
    @param credentials those of the provider that are configured. */
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
