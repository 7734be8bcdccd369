# cmake -DNAME= -DIN= -DOUT= -P: a text as a C++ string, with what every Metal file starts with. Cut into pieces, as
# compilers need not take string literals of more than 64 KiB.
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
file(WRITE ${OUT} "// Generated from ${NAME}'s kernel.gpu.\nnamespace chiaro {\nextern const char gpu_metal_${NAME}[];\nconst char gpu_metal_${NAME}[] =\n${pieces};\n}  // namespace chiaro\n")
