/** The account's balance, limits and spending, and the ledger with all of it. */
import { ActionIcon, Stack, Text, Tooltip } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useAccount } from '../../api/account.ts';
import { useRefresh } from '../../api/usage.ts';
import type { Period } from '../../api/usage.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { formatExact } from '../../components/time.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/usage.ts';
import { dayAt, firstDayOf } from './days.ts';
import { Ledger } from './ledger.tsx';
import { Limits } from './limits.tsx';
import { Money } from './money.tsx';
import { PeriodPicker } from './period-picker.tsx';
import { SpendingSection } from './spending-section.tsx';
import { useUsageView } from './usage-address.ts';
import { useNow } from '../../components/now.ts';

export default function UsagePage() {
  const mayRead = useMay('billing:read');
  const refresh = useRefresh();
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={
          mayRead ? (
            <Tooltip label={texts.refresh}>
              <ActionIcon variant="default" size="lg" aria-label={texts.refresh} onClick={refresh}>
                <IconRefresh size={18} />
              </ActionIcon>
            </Tooltip>
          ) : undefined
        }
      >
        {texts.about}
      </PageHeader>
      {mayRead ? <ReadableUsage /> : <NeedsScope scope="billing:read" action={texts.seeUsage} />}
    </>
  );
}

function ReadableUsage() {
  const { data: account, error, refetch, dataUpdatedAt } = useAccount(true);
  const [view, change] = useUsageView();
  const today = dayAt(useNow());
  const period = useMemo<Period>(
    () => (typeof view.period === 'number' ? { from: firstDayOf(view.period, Date.parse(today)) } : view.period),
    [view.period, today],
  );
  return (
    <Stack gap="lg">
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {account === undefined ? (
        error === null ? (
          <LoadingState />
        ) : null
      ) : (
        <>
          {error === null ? null : <Text size="sm">{texts.figuresBefore(formatExact(dataUpdatedAt / 1000))}</Text>}
          <Money account={account} />
          <Limits account={account} />
        </>
      )}
      <PeriodPicker period={view.period} shown={period} onChange={(next) => change({ period: next })} />
      <SpendingSection period={period} by={view.by} onBy={(by) => change({ by })} />
      <Ledger period={period} view={view} onChange={change} />
    </Stack>
  );
}
