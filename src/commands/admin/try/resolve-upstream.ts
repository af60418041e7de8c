/** Finds the upstream that `models try` works on: reads its model file as the api does. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { createCatalogue } from '../../../catalogue/catalogue.ts';
import { upstreamsOf } from '../../../catalogue/definition.ts';
import { createModelReader } from '../../../catalogue/load-models.ts';
import { isProviderFile, readModelText, readModelTexts } from '../../../catalogue/model-files.ts';
import type { ModelFileError } from '../../../catalogue/model-files.ts';
import { createOffer, credentialNameOf } from '../../../catalogue/offer.ts';
import type { ProviderSettings } from '../../../catalogue/offer.ts';
import type { ProviderFile } from '../../../catalogue/provider-file.ts';
import { isTextModel } from '../../../catalogue/text-definition.ts';
import type { UpstreamEnvironment } from '../../../config/environment.ts';
import { packageFile } from '../../../config/package-root.ts';
import { canonicalName } from '../../../domain/upstream-names.ts';
import { PROTOCOLS } from '../../../providers/protocols.ts';
import { AdminError } from '../admin-error.ts';

/** @throws {AdminError} the api would reject the file, or it has no such upstream. */
export async function resolveUpstream(
  named: string,
  { route, upstream: index = 0 }: { readonly route?: string; readonly upstream?: number },
  environment: UpstreamEnvironment,
) {
  const file = path.resolve(named);
  const [embedded, own] = [packageFile('models'), modelDirectoryOf(file)];
  const isEmbedded = (await realpath(own).catch(() => own)) === (await realpath(embedded));
  // With those beside it, as the api reads it: it may name another model or a provider, and no other may have its name.
  const texts = new Map(await readModelTexts(isEmbedded ? [own] : [embedded, own]));
  const text = texts.get(file) ?? (await readModelText(file));
  texts.set(file, text);
  const { definitions, providers, problems } = await createModelReader(PROTOCOLS)(texts);
  requireUsable(file, text, problems);
  const name = typeof text === 'string' ? nameIn(text) : undefined;
  const settings = settingsOf(providers, environment);
  const [definition] = createOffer(settings)({
    definitions: definitions.filter((each) => each.name === name),
    providers,
  });
  if (definition === undefined) throw new AdminError(`${named}: this is no model file`);
  if (isTextModel(definition)) {
    throw new AdminError(`${named}: a text model has no requests to show; models check validates it`);
  }
  // Also one that is retired.
  const model = createCatalogue([definition], () => 0).resolve(definition.name, route);
  const upstream = upstreamsOf(definition, model.route)[index];
  const position = `routes.${model.route}.upstreams.${index}`;
  if (upstream === undefined) throw new AdminError(`--upstream: there is no ${position}`);
  return { definition, model, upstream, position };
}

/**
 * @param text of the file. @throws {AdminError} something is wrong with the file, or with that of a provider to which it
 *   refers: one that cannot be used looks like one that is not there.
 */
function requireUsable(file: string, text: string | ModelFileError, problems: readonly ModelFileError[]): void {
  const ofFile = problems.filter((problem) => problem.file === file);
  const ofProviders = problems.filter(
    (problem) =>
      isProviderFile(problem.file) &&
      (ofFile.length > 0 || (typeof text === 'string' && text.includes(JSON.stringify(providerOf(problem.file))))),
  );
  if (ofFile.length === 0 && ofProviders.length === 0) return;
  throw new AdminError([...ofProviders, ...ofFile].map(({ message }) => message).join('\n'));
}

/** The name of the provider that a file describes. */
function providerOf(providerFile: string): string {
  return path.basename(path.dirname(providerFile));
}

/** Files of a provider are in a directory of their own below that of the others. */
function modelDirectoryOf(file: string): string {
  const directory = path.dirname(file);
  const parent = path.dirname(directory);
  return path.basename(parent) === 'providers' ? path.dirname(parent) : directory;
}

/** As if every provider were configured, so that no upstream is left out. */
function settingsOf(providers: readonly ProviderFile[], environment: UpstreamEnvironment): ProviderSettings {
  const optional = providers.filter(({ credential }) => credential === 'optional').map(credentialNameOf);
  const configured = [...Object.keys(environment.secrets), ...Object.keys(environment.secretFiles)].map(canonicalName);
  const baseUrls = new Map(Object.entries(environment.baseUrls).map(([name, url]) => [canonicalName(name), url]));
  return {
    hasCredential: (name) => !optional.includes(name) || configured.includes(canonicalName(name)),
    baseUrlOf(name) {
      const own = providers.find((provider) => provider.name === name)?.upstream['baseUrl'];
      return baseUrls.get(canonicalName(name)) ?? (typeof own === 'string' ? own : undefined);
    },
  };
}

function nameIn(text: string): unknown {
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'name' in parsed ? parsed.name : undefined;
}
