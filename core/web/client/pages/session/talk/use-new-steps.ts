/** How many steps came while the reader was elsewhere. */
import { useEffect, useRef, useState } from 'preact/hooks';

/** @param isAtEnd whether the reader sees the end, so that new steps are seen as they come */
export function useNewSteps(count: number, isAtEnd: () => boolean): { count: number; clear: () => void } {
  const [fresh, setFresh] = useState(0);
  const before = useRef(0);
  useEffect(() => {
    const added = count - before.current;
    const isFirst = before.current === 0;
    before.current = count;
    if (isFirst || isAtEnd()) setFresh(0);
    else if (added > 0) setFresh((known) => known + added);
  }, [count]);
  useEffect(() => {
    if (fresh === 0) return;
    const timer = setInterval(() => isAtEnd() && setFresh(0), 500);
    return () => clearInterval(timer);
  }, [fresh > 0]);
  return { count: fresh, clear: () => setFresh(0) };
}
