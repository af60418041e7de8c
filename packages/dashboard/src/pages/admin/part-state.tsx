/** A section of the service page: it loads and fails independently, and keeps known data meanwhile. */
import type { ReactNode } from 'react';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { Section } from '../tasks/section.tsx';

interface Read<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

export function PartState<Data>(props: {
  readonly title: string;
  readonly read: Read<Data>;
  readonly children: (data: Data) => ReactNode;
}) {
  const { title, read, children } = props;
  const { data, error, refetch } = read;
  return (
    <Section title={title}>
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined ? error === null ? <LoadingState /> : null : children(data)}
    </Section>
  );
}
