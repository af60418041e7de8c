/**
 * What operators read and change, on the admin listener. The credential is the operator's token, kept for the tab.
 */
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import type { Static } from 'typebox';
import type { LedgerChangeSchema, QueuesSchema } from '@darkroom/api/admin/admin';
import type {
  AccountPageSchema,
  AdminAccountSchema,
  CreateAccountSchema,
  UpdateAccountSchema,
} from '@darkroom/api/admin/admin-account';
import type { AdminCatalogueSchema } from '@darkroom/api/admin/admin-catalogue';
import type {
  AdminProviderListSchema,
  AdminProviderSchema,
  SetProviderSchema,
} from '@darkroom/api/admin/admin-providers';
import type { AdminServiceSchema, AdminTaskSchema, UpstreamsSchema } from '@darkroom/api/admin/admin-service';
import type { WireWorkList, WorkKind } from '@darkroom/api/admin/admin-work';
import type { WireMargins } from '@darkroom/api/admin/margins';
import type { WireRepairList, WireRepairSummary } from '@darkroom/api/admin/admin-repairs';
import type { KeyListSchema } from '@darkroom/api/tasks/key';
import type { WireLedger } from '@darkroom/api/tasks/ledger';
import type { UsageSchema } from '@darkroom/api/tasks/usage';
import { createApiClient } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { KeyActions } from './keys.ts';

export type Account = Static<typeof AdminAccountSchema>;
export type NewAccount = Static<typeof CreateAccountSchema>;
export type AccountChanges = Static<typeof UpdateAccountSchema>;
export type LedgerChange = Static<typeof LedgerChangeSchema>;
export type Catalogue = Static<typeof AdminCatalogueSchema>;
export type Provider = Static<typeof AdminProviderSchema>;
export type ProviderSettings = Static<typeof SetProviderSchema>;
export type Queues = Static<typeof QueuesSchema>;
export type Upstreams = Static<typeof UpstreamsSchema>;
export type RepairSummary = WireRepairSummary;
export type Repair = WireRepairList['repairs'][number];
export type RepairKind = Repair['kind'];
export type AdminTask = Static<typeof AdminTaskSchema>;
export type ServiceFacts = Static<typeof AdminServiceSchema>;

/** Backlogs and failures are read at this interval while the page is visible. */
const STATE_INTERVAL_MS = 5_000;
const ACCOUNTS_PER_PAGE = 50;
const ENTRIES_PER_PAGE = 50;
const REPAIRS_PER_PAGE = 20;
const WORK_PER_PAGE = 50;

/**
 * @param onUnauthorized called if the token is invalid, or no longer valid.
 * @throws {TypeError} the token contains invalid characters.
 */
export function createOperatorApi(token: string, onUnauthorized: () => void): ApiClient {
  return createApiClient({
    baseUrl: window.location.origin,
    apiKey: token,
    async fetch(input, init) {
      const response = await fetch(input, { ...init, credentials: 'omit', cache: 'no-store' });
      if (response.status === 401) onUnauthorized();
      return response;
    },
  });
}

/** Reads the facts of the service; also used to test a token. */
export function readServiceFacts(api: ApiClient): Promise<ServiceFacts> {
  return api.call('GET', '/admin/service');
}

/** The signed-in operator. */
export interface Operator {
  readonly api: ApiClient;
  readonly service: ServiceFacts;
  readonly signOut: () => void;
}

export const OperatorContext = createContext<Operator | undefined>(undefined);

/** Only within the sign-in component. */
export function useOperator(): Operator {
  const operator = useContext(OperatorContext);
  if (operator === undefined) throw new Error('no operator is signed in here');
  return operator;
}

const ADMIN = 'admin';
const accountPath = (accountId: string): string => `/admin/accounts/${encodeURIComponent(accountId)}`;

/** @param search empty: all accounts. */
export function useAccounts(search: string) {
  const { api } = useOperator();
  return useInfiniteQuery({
    queryKey: [ADMIN, 'accounts', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api.call<Static<typeof AccountPageSchema>>('GET', '/admin/accounts', {
        query: { size: ACCOUNTS_PER_PAGE, cursor: pageParam, search: search === '' ? undefined : search },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: (before) => before,
  });
}

export function useAccount(accountId: string) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, 'account', accountId],
    queryFn: ({ signal }) => api.call<Account>('GET', accountPath(accountId), { signal }),
    refetchInterval: STATE_INTERVAL_MS,
  });
}

export function useAccountKeys(accountId: string) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, 'keys', accountId],
    queryFn: async ({ signal }) =>
      (await api.call<Static<typeof KeyListSchema>>('GET', `${accountPath(accountId)}/keys`, { signal })).keys,
  });
}

export function useLedger(accountId: string) {
  const { api } = useOperator();
  return useInfiniteQuery({
    queryKey: [ADMIN, 'ledger', accountId],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api.call<WireLedger>('GET', `${accountPath(accountId)}/ledger`, {
        query: { size: ENTRIES_PER_PAGE, cursor: pageParam },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** @param days up to and including today, UTC. @param groupBy `day`, `model` or `keyId`. */
export function useUsage(accountId: string, days: number, groupBy: string) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, 'usage', accountId, days, groupBy],
    queryFn: ({ signal }) =>
      api.call<Static<typeof UsageSchema>>('GET', `${accountPath(accountId)}/usage`, {
        query: { from: utcDay(Date.now() - (days - 1) * 86_400_000), groupBy },
        signal,
      }),
    placeholderData: (before) => before,
  });
}

/** @param days up to and including today, UTC. @param groupBy `model`, `upstream`, `account` or `day`. */
export function useMargins(days: number, groupBy: string) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, 'margins', days, groupBy],
    queryFn: ({ signal }) =>
      api.call<WireMargins>('GET', '/admin/margins', {
        query: { from: utcDay(Date.now() - (days - 1) * 86_400_000), groupBy },
        signal,
      }),
    placeholderData: (before) => before,
  });
}

function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Data that is polled: the sections of the service page. */
function useServicePart<Data>(name: string, isEnabled = true) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, name],
    queryFn: ({ signal }) => api.call<Data>('GET', `/admin/${name}`, { signal }),
    enabled: isEnabled,
    refetchInterval: STATE_INTERVAL_MS,
  });
}

export const useCatalogue = (isEnabled = true) => useServicePart<Catalogue>('catalogue', isEnabled);
export const useQueues = () => useServicePart<Queues>('queues');
export const useProviders = () => useServicePart<Static<typeof AdminProviderListSchema>>('providers');
export const useUpstreams = () => useServicePart<Upstreams>('upstreams');
export const useRepairSummary = () => useServicePart<RepairSummary>('repairs/summary');

/** @param kind undefined: all kinds. */
export function useRepairs(kind: RepairKind | undefined) {
  const { api } = useOperator();
  return useInfiniteQuery({
    queryKey: [ADMIN, 'repairs', kind],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api.call<WireRepairList>('GET', '/admin/repairs', {
        query: { size: REPAIRS_PER_PAGE, cursor: pageParam, kind },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // While more than one page is loaded nothing is refetched, which would reload every page.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : STATE_INTERVAL_MS),
  });
}

/** Which work is listed; `hours`: not older. */
export interface WorkFilter {
  readonly kind: WorkKind;
  readonly status?: string;
  readonly model?: string;
  readonly upstream?: string;
  readonly accountId?: string;
  readonly keyId?: string;
  readonly user?: string;
  readonly reason?: string;
  readonly hours?: number;
}

export function useWork(filter: WorkFilter) {
  const { api } = useOperator();
  const { hours, ...query } = filter;
  return useInfiniteQuery({
    queryKey: [ADMIN, 'work', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api.call<WireWorkList>('GET', '/admin/tasks', {
        query: {
          ...query,
          size: WORK_PER_PAGE,
          cursor: pageParam,
          created_after: hours === undefined ? undefined : Math.floor(Date.now() / 1000) - hours * 3_600,
        },
        signal,
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: (before) => before,
  });
}

export function useAdminTask(taskId: string) {
  const { api } = useOperator();
  return useQuery({
    queryKey: [ADMIN, 'task', taskId],
    queryFn: ({ signal }) => api.call<AdminTask>('GET', `/admin/tasks/${encodeURIComponent(taskId)}`, { signal }),
    refetchInterval: STATE_INTERVAL_MS,
  });
}

/** A request that changes something; afterwards all data is read again. */
function useChange<Input, Answer>(send: (api: ApiClient, input: Input) => Promise<Answer>) {
  const { api } = useOperator();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => send(api, input),
    onSuccess: () => void client.invalidateQueries({ queryKey: [ADMIN] }),
  });
}

export const useCreateAccount = () =>
  useChange((api, body: NewAccount) => api.call<Account>('POST', '/admin/accounts', { body }));

export const useUpdateAccount = (accountId: string) =>
  useChange((api, body: AccountChanges) => api.call<Account>('PATCH', accountPath(accountId), { body }));

export const useTopUp = (accountId: string) =>
  useChange((api, body: { readonly usd: string; readonly reference: string }) =>
    api.call<LedgerChange>('POST', `${accountPath(accountId)}/top-up`, { body }),
  );

export const useAdjust = (accountId: string) =>
  useChange((api, body: { readonly usd: string; readonly reference: string; readonly reason: string }) =>
    api.call<LedgerChange>('POST', `${accountPath(accountId)}/adjust`, { body }),
  );

/** @param reason undefined: no reason. */
export const useSuspend = (accountId: string) =>
  useChange((api, reason: string | undefined) =>
    api.call<Account>('POST', `${accountPath(accountId)}/suspend`, { body: reason === undefined ? {} : { reason } }),
  );

export const useResume = (accountId: string) =>
  useChange((api) => api.call<Account>('POST', `${accountPath(accountId)}/resume`));

const providerPath = (name: string): string => `/admin/providers/${encodeURIComponent(name)}`;

export const useSetProvider = (name: string) =>
  useChange((api, body: ProviderSettings) => api.call<Provider>('PUT', providerPath(name), { body }));

export const useResetProvider = (name: string) => useChange((api) => api.call<Provider>('DELETE', providerPath(name)));

export const useDrain = () =>
  useChange((api, { upstream, isDrained }: { readonly upstream: string; readonly isDrained: boolean }) =>
    api.call<Upstreams['upstreams'][number]>(
      'POST',
      `/admin/upstreams/${encodeURIComponent(upstream)}/${isDrained ? 'drain' : 'resume'}`,
    ),
  );

/** The changes to an account's keys; after each of them all data is read again. */
export function useAccountKeyActions(accountId: string): KeyActions {
  const { api } = useOperator();
  const client = useQueryClient();
  async function change<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await api.call<Answer>(method, path, { body });
    void client.invalidateQueries({ queryKey: [ADMIN] });
    return answer;
  }
  const keyPath = (id: string): string => `/admin/keys/${encodeURIComponent(id)}`;
  return {
    create: (key) => change('POST', `${accountPath(accountId)}/keys`, key),
    rotate: ({ id, overlapSeconds }) => change('POST', `${keyPath(id)}/rotate`, { overlapSeconds }),
    revoke: (id) => change('DELETE', keyPath(id)),
  };
}
