# cmake -DNAME= -DIN= -DOUT= -DREGISTER= -P: a Metal text as a C++ string, with what every Metal file starts with, and
# what registers its kernels. In pieces, as compilers need not take longer literals.
file(READ ${IN} text)
set(text "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n${text}")
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "R\"metal(${piece})metal\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
set(registration "")
if(REGISTER)
  set(registration "
#include <softmetal/kernels.h>
namespace chiaro::gpu::soft {
std::span<const KernelEntry> gpu_checked_kernels_${NAME}();
std::span<const KernelEntry> gpu_fast_kernels_${NAME}();
}
static const softmetal::Registration registration(\"${NAME}\", ${NAME}_metal,
  chiaro::gpu::soft::gpu_checked_kernels_${NAME}(), chiaro::gpu::soft::gpu_fast_kernels_${NAME}());
")
endif()
file(WRITE ${OUT} "// Generated from the kernels of ${NAME}.\nextern const char ${NAME}_metal[];\nconst char ${NAME}_metal[] =\n${pieces};\n${registration}")
