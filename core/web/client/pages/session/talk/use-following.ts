/** Whether new rows are followed: while the reader is at the end, and went there by hand, or the session was live from the start. */
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { VirtualListHandle } from '../../../parts/virtual-list.tsx';

export function useFollowing(handle: RefObject<VirtualListHandle | null>, isLive: boolean): boolean {
  const [moved, setMoved] = useState<'end' | 'elsewhere' | null>(null);
  useEffect(() => {
    const element = handle.current?.element();
    if (!element) return;
    const onScroll = () => setMoved(handle.current?.isAtEnd() ? 'end' : 'elsewhere');
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, []);
  return moved === null ? isLive : moved === 'end';
}
