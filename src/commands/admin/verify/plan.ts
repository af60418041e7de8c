/** Which runs `models verify` would make, with which input, and what each costs at most. */
import type { ModelDefinition, Upstream } from '../../../catalogue/definition.ts';
import { liveTargetsOf } from '../../../catalogue/live-verifications.ts';
import type { LiveTarget } from '../../../catalogue/live-verifications.ts';
import type { ReadModels } from '../../../catalogue/load-models.ts';
import { createOffer, findMissing, providerNamesOf } from '../../../catalogue/offer.ts';
import type { ProviderSettings } from '../../../catalogue/offer.ts';
import { worstCaseCost } from '../../../catalogue/price.ts';
import type { ProviderFile } from '../../../catalogue/provider-file.ts';
import { isTextModel } from '../../../catalogue/text-definition.ts';
import { formatUsd } from '../../../domain/money.ts';
import { findBinding } from '../../../providers/http/binding.ts';
import { mediaOf, withTexts } from '../../../tasks/record/input-media.ts';
import { AdminError } from '../admin-error.ts';

type Input = Readonly<Record<string, unknown>>;

/** One run of an upstream. */
export interface Run {
  readonly provider: string;
  /** As the files have it. */
  readonly definition: ModelDefinition;
  readonly target: LiveTarget;
  /** With the configured URL. */
  readonly upstream: Upstream;
  readonly input: Input;
  /** Whether a second job is submitted and cancelled. */
  readonly isCancelTested: boolean;
  readonly costMicroUsd: bigint;
}

/** A run that is not made. */
export interface SkippedRun extends Pick<Run, 'provider' | 'definition' | 'target'> {
  readonly reason: string;
}

export interface Plan {
  readonly runs: readonly Run[];
  readonly skipped: readonly SkippedRun[];
}

interface PlanOptions {
  /** Models and providers; none: all that can be used. */
  readonly names: readonly string[];
  /** URLs by the first part of a media type: `image`. */
  readonly media: ReadonlyMap<string, string>;
  readonly isCancelTested: boolean;
}

/** @throws {AdminError} a name is unknown, or there is nothing to run. */
export function planRuns(models: ReadModels, settings: ProviderSettings, options: PlanOptions): Plan {
  const plan = { runs: [] as Run[], skipped: [] as SkippedRun[] };
  for (const [provider, definition] of selectModels(models, settings, options.names)) {
    for (const target of liveTargetsOf(definition, provider.name)) {
      const { route, upstream: own } = target;
      const routes = { [route]: { ...definition.routes[route], upstreams: [own] } };
      const [offered] = createOffer(settings)({
        definitions: [{ ...definition, routes }],
        providers: models.providers,
      });
      const upstream = offered === undefined || isTextModel(offered) ? undefined : offered.routes[route]?.upstreams[0];
      const skipped = { provider: provider.name, definition, target };
      if (upstream === undefined) {
        const missing = findMissing(provider, settings) === 'base_url' ? 'URL' : 'key';
        plan.skipped.push({ ...skipped, reason: `there is no ${missing}: npm run admin -- providers set` });
        continue;
      }
      const cheapest = findCheapest(definition, own.cost?.pricing ?? definition.pricing, options.media);
      if ('missing' in cheapest) {
        plan.skipped.push({ ...skipped, reason: `its examples need a file: --media-url ${cheapest.missing}=<url>` });
        continue;
      }
      const isCancelTested = options.isCancelTested && findBinding(upstream)?.cancel !== undefined;
      const costMicroUsd = cheapest.costMicroUsd * (isCancelTested ? 2n : 1n);
      plan.runs.push({ ...skipped, upstream, input: cheapest.input, isCancelTested, costMicroUsd });
    }
  }
  if (plan.runs.length > 0 || plan.skipped.length > 0) return plan;
  throw new AdminError(
    options.names.length === 0
      ? 'no provider can be used: npm run admin -- models providers shows what is missing'
      : `${options.names.join(', ')}: text models cannot be verified`,
  );
}

/** Skips the runs that would bring the sum above the maximum. */
export function boundCost({ runs, skipped }: Plan, maxMicroUsd: bigint): Plan {
  let sum = 0n;
  const fitting: Run[] = [];
  const others = [...skipped];
  for (const run of runs) {
    if (sum + run.costMicroUsd <= maxMicroUsd) {
      sum += run.costMicroUsd;
      fitting.push(run);
    } else {
      others.push({ ...run, reason: `--max-cost: it may cost ${formatUsd(run.costMicroUsd)} USD` });
    }
  }
  return { runs: fitting, skipped: others };
}

function selectModels(
  { definitions, providers }: ReadModels,
  settings: ProviderSettings,
  names: readonly string[],
): readonly (readonly [ProviderFile, ModelDefinition])[] {
  for (const name of names) {
    const definition = definitions.find((each) => each.name === name);
    if (providers.some((each) => each.name === name) || (definition && providerNamesOf(definition).size > 0)) continue;
    throw new AdminError(
      definition === undefined
        ? `there is no model or provider called ${name}: npm run admin -- models providers lists them`
        : `${name} has no upstream of a provider: npm run admin -- models try runs a single file`,
    );
  }
  return providers
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .flatMap((provider) =>
      definitions.flatMap((definition) => {
        if (isTextModel(definition) || !providerNamesOf(definition).has(provider.name)) return [];
        const isSelected =
          names.length === 0
            ? findMissing(provider, settings) === undefined
            : names.includes(provider.name) || names.includes(definition.name);
        return isSelected ? [[provider, definition] as const] : [];
      }),
    );
}

/**
 * The example that costs least at most, of those whose files exist; or the kind of a file that is missing.
 *
 * @param pricing what the provider charges, if the upstream says so; otherwise the price of the model.
 */
function findCheapest(
  { inputSchema, examples }: ModelDefinition,
  pricing: ModelDefinition['pricing'],
  media: PlanOptions['media'],
): Pick<Run, 'input' | 'costMicroUsd'> | { readonly missing: string } {
  let cheapest: Pick<Run, 'input' | 'costMicroUsd'> | undefined;
  let missing: string | undefined;
  for (const example of examples) {
    const input = withMedia(inputSchema, example, media);
    if (typeof input === 'string') {
      missing ??= input;
      continue;
    }
    const costMicroUsd = worstCaseCost(pricing, input);
    if (cheapest === undefined || costMicroUsd < cheapest.costMicroUsd) cheapest = { input, costMicroUsd };
  }
  return cheapest ?? { missing: missing ?? '' };
}

/** Hosts of examples, where nothing is (RFC 2606). */
const RESERVED_HOST = /(^|\.)(example|invalid|test|example\.(com|net|org))$/;

/** @returns the input with files that exist; or the kind of a file that is missing. */
function withMedia(schema: Input, input: Input, media: PlanOptions['media']): Input | string {
  const texts = new Map<readonly string[], string>();
  for (const { path, value, accepts } of mediaOf(schema, input)) {
    if (!URL.canParse(value) || !RESERVED_HOST.test(new URL(value).hostname)) continue;
    const kind = accepts[0]?.split('/')[0] ?? '';
    const url = media.get(kind);
    if (url === undefined) return kind;
    texts.set(path, url);
  }
  return withTexts(input, texts);
}
