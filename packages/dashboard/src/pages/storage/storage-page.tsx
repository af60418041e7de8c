/** The stored outputs of tasks: a gallery in which several can be made persistent or deleted at once. */
import { IconPhoto } from '@tabler/icons-react';
import { useEffect } from 'react';
import { useStorageList } from '../../api/storage.ts';
import { EmptyList } from '../../components/empty-list.tsx';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/storage.ts';
import { Gallery } from './gallery.tsx';
import { isNarrowed, useStorageView } from './storage-address.ts';
import { StorageFilters } from './storage-filters.tsx';
import { StorageSummary } from './storage-summary.tsx';

export default function StoragePage() {
  const mayRead = useMay('storage:read');
  useEffect(() => window.scrollTo({ top: 0, behavior: 'instant' }), []);
  if (mayRead) return <ReadableStorage />;
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      <NeedsScope scope="storage:read" action={texts.readOutputs} />
    </>
  );
}

function ReadableStorage() {
  const [{ filter, page }, setView] = useStorageView();
  const { data: list, error, refetch } = useStorageList(filter, page);
  const clear = (): void => setView({ filter: {}, page: 1 });
  return (
    <>
      <PageHeader title={texts.title}>
        {texts.about}{' '}
        <span role="status">{list === undefined ? ' ' : texts.total(list.total, list.totalIsCapped === true)}</span>
      </PageHeader>
      <StorageSummary />
      <StorageFilters filter={filter} onChange={(next) => setView({ filter: next, page: 1 })} />
      {list === undefined && error !== null ? <ErrorState error={error} onRetry={() => void refetch()} /> : null}
      {list === undefined && error === null ? <LoadingState /> : null}
      {list === undefined ? null : (
        <Gallery list={list} page={page} onPage={(next) => setView({ filter, page: next })}>
          <EmptyList
            texts={texts}
            icon={<IconPhoto size={32} aria-hidden />}
            isNarrow={isNarrowed(filter) || page > 1}
            onClear={clear}
          />
        </Gallery>
      )}
    </>
  );
}
