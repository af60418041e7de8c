/** All tasks of the account, newest first: filtered, and loaded as far as the user scrolls. */
import { Button } from '@mantine/core';
import { IconListDetails } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useTaskPages } from '../../api/tasks.ts';
import type { TaskFilter } from '../../api/tasks.ts';
import { EmptyList } from '../../components/empty-list.tsx';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/tasks.ts';
import { isFiltered } from './filter-address.ts';
import { TaskFilters } from './task-filters.tsx';
import { TaskList } from './task-list.tsx';
import { useFilter } from './use-filter.ts';

const EVERYTHING: TaskFilter = { statuses: [], metadata: {} };

export default function TasksPage() {
  const mayRead = useMay('tasks:read');
  if (mayRead) return <ReadableTasks />;
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      <NeedsScope scope="tasks:read" action={texts.readTasks} />
    </>
  );
}

function ReadableTasks() {
  const [filter, setFilter] = useFilter();
  const pages = useTaskPages(filter);
  const first = pages.data?.pages[0];
  const isNarrow = isFiltered(filter);
  const isEmpty = first !== undefined && first.rows.length === 0;
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={
          <Button component={Link} href="/playground" variant="default">
            {texts.toPlayground}
          </Button>
        }
      >
        {texts.about}{' '}
        <span role="status">
          {first === undefined ? ' ' : (isNarrow ? texts.matching : texts.total)(first.total, first.isTotalCapped)}
        </span>
      </PageHeader>
      <TaskFilters filter={filter} onChange={setFilter} onClear={() => setFilter(EVERYTHING)} />
      {pages.isPending ? <LoadingState /> : null}
      {first === undefined && pages.error !== null ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {first === undefined ? null : (
        // Another filter is another list, with its own scroll position.
        <TaskList key={JSON.stringify(filter)} filter={filter} pages={pages} first={first}>
          {isEmpty ? (
            <EmptyList
              texts={texts}
              icon={<IconListDetails size={32} aria-hidden />}
              isNarrow={isNarrow}
              onClear={() => setFilter(EVERYTHING)}
            />
          ) : null}
        </TaskList>
      )}
    </>
  );
}
