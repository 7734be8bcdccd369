// fuse: named rewrites of chains of nodes into one. A link is taken only if nobody else reads the value in between, the
// nodes belong to one pin, module and device, and that device has a kernel for the longer chain; the fused node stands
// where the last link stood. First ops take their followers, then products are cut of which a gated unit multiplies the
// halves, then ops take what comes before them, then the elementwise nodes that are left join.
#include "plan/passes/fusion.h"

namespace chiaro {

Result<Graph> pass_fuse(const Graph& graph, PassContext& context) {
  if (context.skips("fuse")) return graph;
  CHIARO_ASSIGN(Graph fused, fuse_followers(graph, context));
  CHIARO_ASSIGN(fused, fuse_gated(fused, context));
  CHIARO_ASSIGN(fused, fuse_prologues(fused, context));
  if (context.skips("fuse.elementwise")) return fused;
  return fuse_elementwise(fused, context);
}

}  // namespace chiaro
