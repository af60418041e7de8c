/** The providers whose models can be offered, and their settings. */
import { AdminProviderListSchema, AdminProviderSchema, SetProviderSchema } from '@darkroom/api/admin/admin-providers';
import { createSecretCipher } from '../../accounts/secret-cipher.ts';
import { readVerifications } from '../../catalogue/live-verifications.ts';
import type { LiveVerification } from '../../catalogue/live-verifications.ts';
import type { OfferedProvider } from '../../catalogue/offer.ts';
import { presentProvider } from '../../presenters/upstream.ts';
import { ProviderNotFoundError, changeProviderSettings } from '../../providers/change-settings.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { logChange } from './admin-request.ts';

const shared = { tag: 'Administration', access: 'operator' } as const;
const PARAMS = { provider: 'The name of the provider, as returned by `GET /admin/providers`.' };

export function adminProviderRoutes(http: HttpContext): readonly Route[] {
  const { config, database, upstreamSettings } = http;
  const cipher = createSecretCipher(config.encryptionKey, ...config.encryptionKeyFallbacks);

  const present = (offered: OfferedProvider, verifications: readonly LiveVerification[]) => {
    const available = new Set(http.catalogue.available().map(({ name }) => name));
    const credentials = http.credentialProbes.of(offered);
    return presentProvider(offered, upstreamSettings, (model) => available.has(model), verifications, credentials);
  };
  /** @throws {ProviderNotFoundError} */
  const find = (name: string | undefined): OfferedProvider => {
    const found = http.catalogue.providers().find(({ provider }) => provider.name === name);
    if (found === undefined) throw new ProviderNotFoundError();
    return found;
  };

  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/admin/providers',
      operationId: 'adminListProviders',
      summary: 'List providers',
      description:
        'Returns the providers of the process that handles the request, with their settings and models. The models of a provider are offered when what is `missing` is set.',
      response: { kind: 'data', schema: AdminProviderListSchema },
      async handle() {
        const verifications = await readVerifications(database);
        return { providers: http.catalogue.providers().map((offered) => present(offered, verifications)) };
      },
    }),
    defineRoute({
      ...shared,
      method: 'PUT',
      path: '/admin/providers/{provider}',
      operationId: 'adminSetProvider',
      summary: 'Set the credential or the URL of a provider',
      description:
        'Stores the settings; the credential is encrypted and never shown, and if the provider has a free request that shows whether it accepts one, that is sent. Every process uses them within seconds. Settings of the environment take precedence over those that are stored.',
      params: PARAMS,
      body: { kind: 'json', schema: SetProviderSchema },
      response: { kind: 'data', schema: AdminProviderSchema },
      errors: ['NOT_FOUND'],
      async handle({ ctx, params, body }) {
        const { provider } = find(params['provider']);
        const change = { secret: body.credential, baseUrl: body.baseUrl };
        await changeProviderSettings(database, cipher, provider, change);
        logChange(http, ctx, 'set provider', { provider: provider.name, changed: Object.keys(body).join(', ') });
        await upstreamSettings.refresh();
        if (typeof body.credential === 'string') await http.credentialProbes.probe(find(provider.name));
        await http.catalogue.settingsAdopted();
        return present(find(provider.name), await readVerifications(database));
      },
    }),
    defineRoute({
      ...shared,
      method: 'DELETE',
      path: '/admin/providers/{provider}',
      operationId: 'adminResetProvider',
      summary: 'Delete the stored settings of a provider',
      description:
        'Its models are no longer offered if a setting that they need is missing then. Jobs in progress can no longer be polled without the credential.',
      params: PARAMS,
      response: { kind: 'data', schema: AdminProviderSchema },
      errors: ['NOT_FOUND'],
      async handle({ ctx, params }) {
        const { provider } = find(params['provider']);
        await changeProviderSettings(database, cipher, provider, { secret: null, baseUrl: null });
        logChange(http, ctx, 'reset provider', { provider: provider.name });
        await upstreamSettings.refresh();
        await http.catalogue.settingsAdopted();
        return present(find(provider.name), await readVerifications(database));
      },
    }),
  ];
}
